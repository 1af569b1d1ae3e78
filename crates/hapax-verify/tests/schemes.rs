//! Guarantees of the presets' schemes beyond the vectors: boundaries that cannot be moved, keys that count only where
//! they belong, and events whose content stays the same across attempts.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeMap;
use std::path::Path;

use hapax_verify::catalogue;
use hapax_verify::sign::{Delivery, ProviderSigner, generate_secret};
use hapax_verify::vectors::File;
use hapax_verify::{
    Envelope, EventBody, OptionValue, Options, Rejection, Request, Verification, Verifier, sample,
};

const NOW: i64 = 1_767_225_600;

type HeaderList = Vec<(String, String)>;

fn sign(name: &str, secret: &str, options: &Options, id: &str, body: &str) -> Delivery {
    let provider = catalogue::get(name).unwrap();
    let mut delivery = sample::of_provider(provider, id).delivery(NOW);
    if !body.is_empty() {
        delivery.body = body.as_bytes().to_vec();
    }
    ProviderSigner::new(provider, secret, options)
        .unwrap()
        .sign(delivery)
}

fn verifier(name: &str, secrets: &[&str], options: &Options) -> Verifier {
    Verifier::new(&catalogue::get(name).unwrap().recipe(), secrets, options).unwrap()
}

fn verify(verifier: &Verifier, headers: &HeaderList, body: &[u8]) -> Result<Vec<Envelope>, Rejection> {
    match verifier.verify(&Request::new(headers, body, NOW))? {
        Verification::Events(events) => Ok(events),
        other => panic!("{other:?}"),
    }
}

fn set(headers: &HeaderList, name: &str, value: &str) -> HeaderList {
    let others = headers.iter().filter(|(known, _)| known != name).cloned();
    others.chain([(name.to_owned(), value.to_owned())]).collect()
}

fn value<'a>(headers: &'a HeaderList, name: &str) -> &'a str {
    &headers.iter().find(|(known, _)| known == name).unwrap().1
}

fn options(list: &[(&str, &str)]) -> Options {
    let text = |(name, value): &(&str, &str)| ((*name).to_owned(), OptionValue::Text((*value).to_owned()));
    list.iter().map(text).collect()
}

/// All ways to split the signed bytes at another point than the provider did.
fn moved_borders(before: &str, after: &str) -> Vec<(String, String)> {
    let joined = format!("{before}{after}");
    (0..=joined.len())
        .filter(|border| *border != before.len() && joined.is_char_boundary(*border))
        .map(|border| (joined[..border].to_owned(), joined[border..].to_owned()))
        .collect()
}

#[test]
fn no_border_between_timestamp_and_body_can_be_moved() {
    for (name, header, body_first) in [
        ("zendesk", "x-zendesk-webhook-signature-timestamp", false),
        ("discord", "x-signature-timestamp", false),
        ("sendgrid", "x-twilio-email-event-webhook-timestamp", false),
        ("box", "box-delivery-timestamp", true),
    ] {
        let provider = catalogue::get(name).unwrap();
        let secret = generate_secret(provider, &[3; 32]);
        let verifier = verifier(name, &[&secret.verifying], &Options::default());
        // Bodies that begin or end like the continuation of a timestamp.
        for body in [
            "{\"id\":\"a\"}",
            "0{\"id\":\"a\"}",
            "2026-01-01T00:00:00Z",
            "1767225600",
            "Z",
            ".5Z",
            "00",
        ] {
            let delivery = sign(name, &secret.signing, &Options::default(), "a", body);
            let timestamp = value(&delivery.headers, header).to_owned();
            let splits = if body_first {
                moved_borders(body, &timestamp)
            } else {
                moved_borders(&timestamp, body)
            };
            for (first, second) in splits {
                let (body, timestamp) = if body_first {
                    (first, second)
                } else {
                    (second, first)
                };
                let headers = set(&delivery.headers, header, &timestamp);
                let result = verify(&verifier, &headers, body.as_bytes());
                assert_eq!(result.unwrap_err().status(), 401, "{name}: {timestamp} | {body}");
            }
        }
    }
}

#[test]
fn no_border_between_id_timestamp_and_body_can_be_moved() {
    let (id_header, time_header) = ("twitch-eventsub-message-id", "twitch-eventsub-message-timestamp");
    let verifier = verifier("twitch", &["0123456789"], &Options::default());
    // The body contains a time that would serve as a fresh timestamp if the id could extend up to it.
    let body = r#"{"event":{"followed_at":"2026-01-01T00:00:00Z"}}"#;
    let delivery = sign("twitch", "0123456789", &Options::default(), "e76c6bd4", body);
    assert!(verify(&verifier, &delivery.headers, &delivery.body).is_ok());
    let time = value(&delivery.headers, time_header);
    let joined = format!("e76c6bd4{time}{body}");
    let mut tried = 0;
    for first in 0..=joined.len() {
        for second in first..=joined.len() {
            if (first, second) == (8, 8 + time.len()) {
                continue;
            }
            let headers = set(&delivery.headers, id_header, &joined[..first]);
            let headers = set(&headers, time_header, &joined[first..second]);
            let result = verify(&verifier, &headers, &joined.as_bytes()[second..]);
            assert_eq!(
                result.unwrap_err().status(),
                401,
                "{} | {}",
                &joined[..first],
                &joined[first..second]
            );
            tried += 1;
        }
    }
    assert!(tried > 3_000, "{tried}");
}

#[test]
fn each_key_of_box_counts_for_its_own_header_alone() {
    let delivery = sign("box", "one", &Options::default(), "a", "");
    let signature = value(&delivery.headers, "box-signature-primary").to_owned();
    let mut secondary = delivery.headers.clone();
    secondary.retain(|(name, _)| name != "box-signature-primary");
    secondary.push(("box-signature-secondary".to_owned(), signature));
    let is_ok = |verifier: &Verifier, headers: &HeaderList| verify(verifier, headers, &delivery.body).is_ok();

    let primary_key = verifier("box", &[], &options(&[("primary_key", "one")]));
    assert!(is_ok(&primary_key, &delivery.headers) && !is_ok(&primary_key, &secondary));
    let secondary_key = verifier("box", &[], &options(&[("secondary_key", "one")]));
    assert!(!is_ok(&secondary_key, &delivery.headers) && is_ok(&secondary_key, &secondary));
    // The secret does not show which of the two it is.
    let secret = verifier("box", &["one"], &Options::default());
    assert!(is_ok(&secret, &delivery.headers) && is_ok(&secret, &secondary));
    let none = verifier("box", &[], &Options::default());
    assert!(!is_ok(&none, &delivery.headers));
    for (name, other) in [
        ("box-signature-version", "2"),
        ("box-signature-algorithm", "HmacSHA1"),
    ] {
        assert!(!is_ok(&secret, &set(&delivery.headers, name, other)));
        let mut without = delivery.headers.clone();
        without.retain(|(known, _)| known != name);
        assert!(!is_ok(&secret, &without), "{name}");
    }
}

#[test]
fn any_of_the_numbered_headers_counts() {
    let verifier = verifier("docusign", &["one"], &Options::default());
    let delivery = sign("docusign", "one", &Options::default(), "a", "");
    let signature = value(&delivery.headers, "x-docusign-signature-1").to_owned();
    let other = "A".repeat(43) + "=";
    let headers = |count: usize, own: usize| -> HeaderList {
        let each = |number: usize| {
            let text = if number == own { &signature } else { &other };
            (format!("X-DocuSign-Signature-{number}"), text.clone())
        };
        (1..=count).map(each).collect()
    };
    for own in 1..=16 {
        assert!(
            verify(&verifier, &headers(16, own), &delivery.body).is_ok(),
            "{own}"
        );
    }
    assert!(verify(&verifier, &headers(16, 17), &delivery.body).is_err());
}

#[test]
fn a_signature_header_that_comes_several_times_counts_every_time() {
    let verifier = verifier("mollie", &["one"], &Options::default());
    let delivery = sign("mollie", "one", &Options::default(), "a", "");
    let signature = value(&delivery.headers, "x-mollie-signature").to_owned();
    let name = "x-mollie-signature".to_owned();
    let other = format!("sha256={}", "0".repeat(64));
    let twice = vec![(name.clone(), other.clone()), (name.clone(), signature.clone())];
    assert!(verify(&verifier, &twice, &delivery.body).is_ok());
    let listed = vec![(name.clone(), format!("{other}, {signature}"))];
    assert!(verify(&verifier, &listed, &delivery.body).is_ok());
    let neither = vec![(name.clone(), other.clone()), (name, other)];
    assert!(verify(&verifier, &neither, &delivery.body).is_err());
}

#[test]
fn a_named_key_counts_only_for_requests_that_name_it() {
    let table = [("app-1", "one"), ("app-2", "two")].map(|(name, key)| (name.to_owned(), key.to_owned()));
    let keys: Options = [("keys", OptionValue::Table(BTreeMap::from(table)))]
        .into_iter()
        .collect();
    let verifier = verifier("pusher", &[], &keys);
    let delivery = sign("pusher", "two", &keys, "a", "");
    assert_eq!(value(&delivery.headers, "x-pusher-key"), "app-2");
    assert!(verify(&verifier, &delivery.headers, &delivery.body).is_ok());
    for other in ["app-1", "app-3", ""] {
        let headers = set(&delivery.headers, "x-pusher-key", other);
        assert_eq!(
            verify(&verifier, &headers, &delivery.body).unwrap_err().status(),
            401,
            "{other}"
        );
    }
}

#[test]
fn entities_in_a_secret_are_decoded_by_both_sides() {
    let delivery = sign("woocommerce", "a&b<c", &Options::default(), "a", "");
    for secret in ["a&b<c", "a&amp;b&lt;c", "a&#038;b&#60;c"] {
        let verifier = verifier("woocommerce", &[secret], &Options::default());
        assert!(
            verify(&verifier, &delivery.headers, &delivery.body).is_ok(),
            "{secret}"
        );
    }
    let verifier = verifier("woocommerce", &["a&amp;amp;b<c"], &Options::default());
    assert!(verify(&verifier, &delivery.headers, &delivery.body).is_err());
}

#[test]
fn a_time_inside_the_body_is_written_anew_for_each_attempt_and_nothing_else_is() {
    for (name, body) in [
        ("linear", "{ \"webhookTimestamp\" : 1 , \"é\":[2.50]}"),
        ("pusher", "{\"events\":[], \"time_ms\":\"x\" }"),
    ] {
        let delivery = sign(name, "one", &Options::default(), "a", body);
        let signed = String::from_utf8(delivery.body.clone()).unwrap();
        let expected = body
            .replace(": 1 ", ": 1767225600000 ")
            .replace("\"x\"", "1767225600000");
        assert_eq!(signed, expected);
        let verifier = verifier(name, &["one"], &Options::default());
        assert!(
            verify(&verifier, &delivery.headers, &delivery.body).is_ok(),
            "{name}"
        );
    }
    for body in ["{}", "not JSON", ""] {
        let delivery = sign("linear", "one", &Options::default(), "a", body);
        assert!(body.is_empty() || delivery.body == body.as_bytes());
    }
}

#[test]
fn slash_commands_and_dialogues_of_slack_are_identified_by_their_trigger() {
    let verifier = verifier("slack", &["one"], &Options::default());
    for (body, id, kind) in [
        (
            "token=z&command=%2Fweather&text=94070&trigger_id=13345224609.738474920.8088930838d88f",
            "13345224609.738474920.8088930838d88f",
            "/weather",
        ),
        (
            "payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%221.2.3%22%7D",
            "1.2.3",
            "block_actions",
        ),
    ] {
        let delivery = sign("slack", "one", &Options::default(), "a", body);
        let events = verify(&verifier, &delivery.headers, &delivery.body).unwrap();
        assert_eq!(
            (events[0].event_id.as_str(), events[0].event_type.as_deref()),
            (id, Some(kind))
        );
        assert!(events[0].id_is_signed);
    }
}

#[test]
fn a_source_may_widen_or_narrow_how_far_the_signed_time_may_be_off() {
    let delivery = sign("paddle", "one", &Options::default(), "a", "");
    let accepted = |tolerance: &str, late: i64| {
        let verifier = verifier("paddle", &["one"], &options(&[("tolerance_seconds", tolerance)]));
        let request = Request::new(&delivery.headers, &delivery.body, NOW + late);
        verifier.verify(&request).is_ok()
    };
    assert!(accepted("60", 60) && accepted("60", -60) && !accepted("60", 61));
    assert!(accepted("0", 0) && !accepted("0", 1));
    let recipe = catalogue::get("paddle").unwrap().recipe();
    for wrong in ["", "-1", "1m", "86401"] {
        let options = options(&[("tolerance_seconds", wrong)]);
        assert!(Verifier::new(&recipe, &["one"], &options).is_err(), "{wrong}");
    }
}

#[test]
fn of_two_proofs_the_one_counts_that_there_is_a_secret_for() {
    let signing = "whsec_THqWbnYlrKQL13XOieKZ8qOrbGSkHg+c2I0apFsot2g=";
    let signed = sign("gitlab", signing, &Options::default(), "a", "");
    let both = set(&signed.headers, "x-gitlab-token", "plain");
    let is_ok = |secrets: &[&str], headers: &HeaderList, body: &[u8]| {
        verify(&verifier("gitlab", secrets, &Options::default()), headers, body).is_ok()
    };
    for secrets in [&["plain"][..], &[signing], &["plain", signing]] {
        assert!(is_ok(secrets, &both, &signed.body), "{secrets:?}");
    }
    // The signature is the stronger proof, and a token does not make up for an invalid one.
    assert!(!is_ok(&["plain", signing], &both, b"{}"));
    // A source with only a signing secret cannot be downgraded to a token.
    let token_alone = vec![("x-gitlab-token".to_owned(), signing.to_owned())];
    assert!(!is_ok(&[signing], &token_alone, &signed.body));
}

#[test]
fn a_batch_of_cloud_events_is_told_from_one_event_by_its_content_type() {
    let verifier = verifier("cloudevents", &["token"], &Options::default());
    let body = br#"[{"id":"a","type":"t"},{"id":"b","type":"t"}]"#;
    let headers = |kind: &str| -> HeaderList {
        [
            ("authorization", "Bearer token"),
            ("ce-id", "whole"),
            ("ce-type", "t"),
            ("content-type", kind),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    };
    // In binary mode the body is the provider's data, and may well be an array.
    assert_eq!(
        verify(&verifier, &headers("application/json"), body)
            .unwrap()
            .len(),
        1
    );
    let batch = "application/cloudevents-batch+json; charset=utf-8";
    assert_eq!(verify(&verifier, &headers(batch), body).unwrap().len(), 2);
}

/// The ids, types and delivered bodies of the events in a body.
fn taken_apart(name: &str, body: &str) -> Vec<(String, String, String)> {
    let delivery = sign(name, "one", &Options::default(), "a", body);
    let events = verify(
        &verifier(name, &["one"], &Options::default()),
        &delivery.headers,
        &delivery.body,
    );
    let text = |event: Envelope| {
        let EventBody::Pieces(pieces) = event.body else {
            panic!("{:?}", event.body)
        };
        let delivered: String = pieces.into_iter().map(|piece| &body[piece]).collect();
        (event.event_id, event.event_type.unwrap(), delivered)
    };
    events.unwrap().into_iter().map(text).collect()
}

#[test]
fn every_message_status_change_and_messaging_entry_of_meta_is_an_event_of_its_own() {
    let entry = |inside: &str| format!(r#"{{"id":"1","time":5,{inside}}}"#);
    let whatsapp = entry(
        r#""changes":[{"field":"messages","value":{"messages":[{"id":"wamid.A"},{"id":"wamid.B"}]}},{"field":"messages","value":{"statuses":[{"id":"wamid.A","status":"sent"},{"id":"wamid.A","status":"read"}]}}]"#,
    );
    let messenger = entry(r#""messaging":[{"message":{"mid":"m_1"}},{"read":{"watermark":7}}]"#);
    let page = entry(r#""changes":[{"field":"feed","value":{"item":"post"}}]"#);
    let body = |entries: &[&str]| format!(r#"{{"object":"page","entry":[{}]}}"#, entries.join(","));

    let events = taken_apart("meta", &body(&[&whatsapp, &messenger, &page]));
    let ids: Vec<(&str, &str)> = events
        .iter()
        .map(|(id, kind, _)| (id.as_str(), kind.as_str()))
        .collect();
    let [.., (read, "messaging"), (feed, "feed")] = ids[..] else {
        panic!("{ids:?}")
    };
    assert_eq!(
        ids[..5],
        [
            ("wamid.A", "messages"),
            ("wamid.B", "messages"),
            ("wamid.A:sent", "messages"),
            ("wamid.A:read", "messages"),
            ("m_1", "messaging"),
        ]
    );
    // Each is delivered so that it yields the same event when sent alone.
    for (id, kind, delivered) in &events {
        let alone = taken_apart("meta", delivered);
        assert_eq!(alone, [(id.clone(), kind.clone(), delivered.clone())]);
    }
    // Events without an id are recognised again in another batch.
    let again = taken_apart("meta", &body(&[&page, &messenger]));
    assert_eq!((again[0].0.as_str(), again[2].0.as_str()), (feed, read));
}

#[test]
fn every_entity_in_the_older_shape_of_quickbooks_is_an_event_of_its_own() {
    let entity = |id: &str| {
        format!(
            r#"{{"name":"Customer","id":"{id}","operation":"Update","lastUpdated":"2026-01-01T00:00:00.000Z"}}"#
        )
    };
    let body = |entities: &str| {
        format!(
            r#"{{"eventNotifications":[{{"realmId":"7","dataChangeEvent":{{"entities":[{entities}]}}}}]}}"#
        )
    };
    let events = taken_apart("quickbooks", &body(&format!("{}, {}", entity("1"), entity("2"))));
    let expected = |id: &str| {
        let event_id = format!("7:Customer:{id}:Update:2026-01-01T00%3A00%3A00.000Z");
        (event_id, "Customer.Update".to_owned(), body(&entity(id)))
    };
    assert_eq!(events, [expected("1"), expected("2")]);
}

/// Vectors that repeat an event as its provider does are marked by their names.
fn is_attempt(name: &str) -> bool {
    ["retry", "redelivery"].iter().any(|word| name.contains(word))
}

/// The content that is compared when an event is delivered again.
fn content(event: &Envelope, body: &[u8]) -> String {
    match (&event.content_hash, &event.body) {
        (Some(content), _) => format!("{content:?}"),
        (None, EventBody::Whole) => format!("{body:?}"),
        (None, EventBody::Part(range)) => format!("{:?}", &body[range.clone()]),
        (None, EventBody::Pieces(_)) => panic!("pieces are compared by the item's own bytes"),
    }
}

/// Attempts differ in their counters, but not in the content that is compared.
#[test]
fn every_attempt_at_an_event_has_the_same_content() {
    let mut repeated = 0;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let file: File = serde_json::from_str(&text).unwrap();
        let provider = catalogue::get(&file.provider.unwrap().replace('_', "-")).unwrap();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for vector in file
            .vectors
            .iter()
            .filter(|vector| vector.valid && vector.policy.is_none())
        {
            let Ok(Verification::Events(events)) = vector.verification(provider) else {
                continue;
            };
            for event in events.iter().filter(|event| !event.event_id.is_empty()) {
                let content = content(event, &vector.body());
                let before = seen.insert(event.event_id.clone(), content.clone());
                if let Some(before) = before.filter(|_| is_attempt(&vector.name)) {
                    repeated += 1;
                    assert_eq!(before, content, "{}: {}", vector.name, event.event_id);
                }
            }
        }
    }
    assert!(repeated > 5, "{repeated}");
}
