//! Every vector of every provider, through the same calls that the languages make. Each is received twice: a second
//! delivery of the same request is the same event.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::path::{Path, PathBuf};

use hapax_bindings::{
    Event, KeyMap, ProviderSettings, Received, Refusal, RequestHead, Source, SourceSettings, headers,
};
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::identity::plain;
use hapax_verify::sign::generate_secret;
use hapax_verify::vectors::{ExpectedEvent, ExpectedResponse, File, Vector};
use hapax_verify::{Options, SecretNeed};

const OURS: &str = "../../crates/hapax-verify/tests/vectors";
/// Vectors that providers publish may not be copied; they are tested if they are found next to the workspace.
const PUBLISHED: &str = "../../../shared/providers/vectors/published";

fn files(folder: &str) -> Vec<File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
        .collect()
}

fn preset(file: &File, vector: &Vector) -> &'static Provider {
    let name = vector.provider.as_ref().or(file.provider.as_ref()).unwrap();
    catalogue::get(&name.replace('_', "-")).unwrap()
}

/// The source that the vector describes, with the options that the provider has.
fn source(preset: &Provider, vector: &Vector, keys: KeyMap) -> Result<Source, hapax_bindings::Error> {
    let public = vector.public_keys.clone().unwrap_or_default();
    let mut secrets: Vec<String> = vector.secrets.iter().cloned().chain(public).collect();
    if secrets.is_empty() && preset.secrets == SecretNeed::Required {
        secrets.push(generate_secret(preset, &[1; 32]).verifying);
    }
    let given = vector.options();
    let options: Options = preset
        .options
        .iter()
        .filter_map(|option| Some((option.name.clone(), given.get(&option.name)?.clone())))
        .collect();
    let (url, _) = vector.url.split_once('?').unwrap_or((&vector.url, ""));
    let settings = ProviderSettings {
        options,
        keys,
        source: SourceSettings {
            public_url: Some(url.to_owned()),
            ..SourceSettings::default()
        },
        ..ProviderSettings::default()
    };
    Source::provider(&preset.name, &secrets, settings)
}

fn receive(source: &Source, vector: &Vector, keys: KeyMap) -> Received {
    let (_, query) = vector.url.split_once('?').unwrap_or_default();
    let head = RequestHead {
        method: vector.method.clone(),
        query: query.to_owned(),
        headers: headers(&vector.headers),
        now: Some(vector.now),
    };
    source.receive(&head, &vector.body(), keys)
}

/// What is wrong with the result of a vector.
fn failure(preset: &Provider, vector: &Vector, received: &Received) -> Option<String> {
    let choice = preset.choices.iter().find(|choice| choice.vector == vector.name);
    let accepts = match choice {
        Some(choice) => choice.accept,
        None if vector.policy.is_some() => return None,
        None => vector.valid,
    };
    let expected = vector.expected_response.as_ref();
    match (&received.events, &received.error, &received.reply) {
        (Some(_), _, _) if !accepts => Some("it should be refused".to_owned()),
        (Some(events), _, _) => events_differ(vector, events),
        // A signature without a body says nothing about the query, so only handshakes come by GET, as at the gateway.
        (None, Some(refusal), _) if refusal.code == "method_not_allowed" => {
            (vector.method != "GET" || preset.delivers_by_get).then(|| refusal.message.clone())
        }
        (None, Some(refusal), _) => refusal_differs(vector, accepts, refusal, expected),
        (None, None, Some(reply)) => match expected {
            Some(expected) => reply_differs(reply.status, &reply.headers, &reply.body, expected),
            None => Some("it is not a handshake".to_owned()),
        },
        (None, None, None) => Some("nothing was received".to_owned()),
    }
}

fn events_differ(vector: &Vector, events: &[Event]) -> Option<String> {
    let found: Vec<ExpectedEvent> = events
        .iter()
        .map(|event| ExpectedEvent {
            id: is_the_providers(&event.event_id).then(|| plain(&event.event_id)),
            event_type: event.event_type.clone(),
        })
        .collect();
    let expected = vector.expected_event_ids.clone();
    let ids_differ = match &expected {
        Some(expected) => *expected != found,
        None => found.first().and_then(|event| event.id.clone()) != vector.expected_event_id,
    };
    let type_differs = found.first().and_then(|event| event.event_type.clone()) != vector.expected_event_type;
    (ids_differ || type_differs).then(|| format!("found {found:?}"))
}

fn is_the_providers(event_id: &str) -> bool {
    !event_id.starts_with("generated:") && !event_id.starts_with("unidentified:")
}

fn refusal_differs(
    vector: &Vector,
    accepts: bool,
    refusal: &Refusal,
    expected: Option<&ExpectedResponse>,
) -> Option<String> {
    // A library cannot complete these, and says who can.
    let names_gateway = refusal.message.contains("gateway");
    let is_unidentified = vector.expected_event_id.is_none()
        && vector.expected_event_ids.is_none()
        && ["event_id_missing", "malformed_body"].contains(&refusal.code);
    match (accepts, expected) {
        (false, _) => None,
        (true, Some(expected)) => match (&refusal.confirmation, refusal.code) {
            (Some(asked), _) => reply_differs(
                asked.reply.status,
                &asked.reply.headers,
                &asked.reply.body,
                expected,
            ),
            (None, "handshake_refused") if names_gateway || expected.status == 403 => None,
            (None, _) => Some(refusal.message.clone()),
        },
        (true, None) if is_unidentified => None,
        (true, None) => Some(format!("it should be accepted: {}", refusal.message)),
    }
}

fn reply_differs(
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
    expected: &ExpectedResponse,
) -> Option<String> {
    let has = |(name, value): (&String, &String)| {
        headers
            .iter()
            .any(|(known, found)| known.eq_ignore_ascii_case(name) && found == value)
    };
    let is_text = expected.body.as_ref().is_none_or(|text| text.as_bytes() == body);
    let is_json = expected.json.as_ref().is_none_or(|json| {
        serde_json::from_slice::<serde_json::Value>(body).is_ok_and(|found| found == *json)
    });
    let is_right = status == expected.status && is_text && is_json && expected.headers.iter().all(has);
    (!is_right).then(|| format!("answered {status} {}", String::from_utf8_lossy(body)))
}

fn failures(folder: &str) -> (usize, Vec<String>) {
    let (mut count, mut failures) = (0, Vec::new());
    for file in files(folder) {
        for vector in &file.vectors {
            count += 1;
            let preset = preset(&file, vector);
            let source = match source(preset, vector, vector.keys()) {
                Ok(source) => source,
                Err(error) if vector.valid => {
                    failures.push(format!("{}: {error}", vector.name));
                    continue;
                }
                Err(_) => continue,
            };
            let (first, second) = (
                receive(&source, vector, KeyMap::new()),
                receive(&source, vector, KeyMap::new()),
            );
            failures
                .extend(failure(preset, vector, &first).map(|failure| format!("{}: {failure}", vector.name)));
            if ids(&first) != ids(&second) {
                failures.push(format!("{}: another event when it comes again", vector.name));
            }
        }
    }
    (count, failures)
}

/// What identifies the events, if the provider does.
fn ids(received: &Received) -> Vec<(&str, Option<[u8; 32]>)> {
    let events = received.events.iter().flatten();
    events
        .filter(|event| is_the_providers(&event.event_id))
        .map(|event| (event.event_id.as_str(), event.body_hash))
        .collect()
}

#[test]
fn every_vector_of_the_repository_is_judged_as_it_says() {
    let (count, failures) = failures(OURS);
    assert!(count > 300, "{count} vectors");
    assert_eq!(failures, Vec::<String>::new());
}

#[test]
fn vectors_published_by_the_providers_are_judged_as_they_say() {
    assert_eq!(failures(PUBLISHED).1, Vec::<String>::new());
}

#[test]
fn a_key_that_is_not_known_is_named_and_may_come_with_the_request() {
    let mut fetched = 0;
    for file in files(OURS) {
        let needs_keys = |vector: &&Vector| vector.valid && !vector.keys().is_empty();
        for vector in file.vectors.iter().filter(needs_keys) {
            let source = source(preset(&file, vector), vector, KeyMap::new()).unwrap();
            let Some(refusal) = receive(&source, vector, KeyMap::new()).error else {
                continue;
            };
            let Some(key) = refusal.needs_key else {
                continue;
            };
            assert_eq!(refusal.code, "key_unavailable");
            assert!(key.url.starts_with("https://"), "{}", key.url);
            let keys = KeyMap::from([(key.key_id.clone(), vector.keys()[&key.key_id].clone())]);
            for _ in 0..2 {
                let received = receive(&source, vector, keys.clone());
                assert!(
                    received.error.is_none_or(|refusal| refusal.needs_key.is_none()),
                    "{}",
                    vector.name
                );
            }
            fetched += 1;
        }
    }
    assert!(fetched > 3, "{fetched} keys");
}
