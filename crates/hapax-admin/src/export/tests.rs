//! Every export is really run, against a handler that records its requests.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hapax_core::store::EventRecord;
use hapax_core::{
    BodyHash, EventIds, EventStatus, Headers, Identity, Secret, StoredEvent, SystemRandom, Timestamp,
};
use hapax_verify::identity::ValuePath;
use hapax_verify::sign::{ProviderSigner, generate_secret};
use hapax_verify::{
    CustomScheme, Field, OptionKind, OptionValue, Proof, Recipe, Request, Split, Verification, Verifier,
    catalogue, sample,
};

use super::super::state::SourceFacts;
use super::*;
use hapax_config::redact::Redaction;

const SECRET: &str = "whsec_test_secret";
/// A script that would execute something if a quote were wrong, and text that is difficult in every language.
const TEXT: &str =
    "{\"id\":\"evt_1\",\"note\":\"it's $(touch pwned) `x` \\\\ \\\"ä€ \\u0000 </script> ${1}\"}\n";
const PATIENCE: Duration = Duration::from_secs(60);

fn record(body: &[u8]) -> EventRecord {
    let identity = Identity::new("stripe", "evt_1\n'; rm -rf \u{2028}*/");
    let at = Timestamp::from_seconds(1_767_225_600);
    let headers: [(&str, &[u8]); 6] = [
        ("Content-Type", b"application/json"),
        ("Stripe-Signature", b"t=1,v1=00"),
        ("X-Note", b"it's \"quoted\" \\ $HOME"),
        ("X-Empty", b""),
        ("Host", b"sender"),
        ("Authorization", b"Bearer hidden"),
    ];
    EventRecord {
        event: StoredEvent {
            id: EventIds::default().next(at, identity.key(), &SystemRandom::new()),
            identity,
            source: "stripe".into(),
            event_type: Some("a\"\\b".to_owned()),
            received_at: at,
            signed_at: None,
            secret_index: Some(0),
            raw_hash: BodyHash::of(body),
            headers: Headers::pack(headers),
            body: Bytes::copy_from_slice(body),
            batch: None,
        },
        status: EventStatus::Completed,
        deliveries: Vec::new(),
        attempts: Vec::new(),
        duplicates: None,
        conflicts: Vec::new(),
        same_body_as: None,
    }
}

/// A body with every byte, and a body of text.
fn bodies() -> [Vec<u8>; 2] {
    [TEXT.as_bytes().to_vec(), (0..=255).cycle().take(20_000).collect()]
}

/// A handler that answers 200 and reports the head and body of each request.
fn handler() -> (SocketAddr, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let request = read(&mut stream.unwrap());
            if told.send(request).is_err() {
                return;
            }
        }
    });
    (address, heard)
}

fn read(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let (mut bytes, mut some) = (Vec::new(), [0; 4096]);
    let end = loop {
        let count = stream.read(&mut some).unwrap();
        bytes.extend_from_slice(&some[..count]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        assert!(count > 0, "the head ends");
    };
    let head = String::from_utf8(bytes[..end].to_vec())
        .unwrap()
        .to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.unwrap().trim().parse().unwrap();
    while bytes.len() < end + length {
        let count = stream.read(&mut some).unwrap();
        assert!(count > 0, "the body ends");
        bytes.extend_from_slice(&some[..count]);
    }
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        .unwrap();
    (head, bytes[end..].to_vec())
}

/// Writes a file, runs a command on it in its folder, and checks that it succeeds.
fn run(folder: &Path, name: &str, text: &str, command: &[&str], address: SocketAddr) {
    std::fs::write(folder.join(name), text).unwrap();
    let output = Command::new(command[0])
        .args(&command[1..])
        .current_dir(folder)
        .env("WEBHOOK_URL", format!("http://{address}/hook"))
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", command[0]));
    assert!(
        output.status.success(),
        "{}{}\n{text}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!folder.join("pwned").exists());
}

/// Runs a test in a language against both bodies and checks the handler's requests, two for each.
fn delivers_twice(name: &str, text: impl Fn(&ExportedEvent<'_>) -> String, commands: &[&[&str]]) {
    let folder = tempfile::tempdir().unwrap();
    for body in bodies() {
        let (address, requests) = handler();
        let text = text(&ExportedEvent::of(&record(&body), None));
        for command in commands {
            run(folder.path(), name, &text, command, address);
        }
        for _ in 0..2 {
            let (head, got) = requests.recv_timeout(PATIENCE).unwrap();
            assert!(head.starts_with("post /hook http/1.1\r\n"), "{head}");
            assert!(head.contains("x-note: it's \"quoted\" \\ $home\r\n"), "{head}");
            assert!(head.contains("idempotency-key: "), "{head}");
            assert!(!head.contains("hidden"), "{head}");
            assert_eq!(got, body, "{}", String::from_utf8_lossy(&got));
        }
        assert!(requests.try_recv().is_err(), "twice and no more");
    }
}

#[test]
fn the_python_test_delivers_the_exact_body_twice() {
    let call = "import test_delivered_twice as t; t.test_delivered_twice()";
    delivers_twice(
        "test_delivered_twice.py",
        python::text,
        &[&["python3", "-c", call]],
    );
}

#[test]
fn the_typescript_test_delivers_the_exact_body_twice() {
    // Every version of Node runs JavaScript; only later versions strip the types themselves.
    let javascript = |exported: &ExportedEvent<'_>| {
        typescript::text(exported)
            .replace(": [string, string][]", "")
            .replace(": Promise<boolean>", "")
    };
    delivers_twice(
        "twice.test.mjs",
        javascript,
        &[&["node", "--test", "twice.test.mjs"]],
    );
}

#[test]
fn the_rust_test_delivers_the_exact_body_twice() {
    let build: &[&str] = &["rustc", "--edition", "2021", "--test", "-o", "twice", "twice.rs"];
    delivers_twice("twice.rs", rust::text, &[build, &["./twice"]]);
}

fn facts(address: SocketAddr) -> SourceFacts {
    let provider = catalogue::get("stripe").unwrap();
    SourceFacts {
        provider: Some(provider),
        recipe: provider.recipe(),
        options: provider.sample_options(),
        secret: Some(Secret::new(SECRET)),
        url: format!("http://{address}/in/stripe"),
        redact: Redaction::default(),
    }
}

#[test]
fn the_script_delivers_the_exact_body_with_a_signature_of_now() {
    let now = Timestamp::from_seconds(1_767_225_999);
    let folder = tempfile::tempdir().unwrap();
    for body in bodies() {
        let (address, requests) = handler();
        let record = record(&body);
        let request = resign::request(&record.event, Some(&facts(address)), now).unwrap();
        let text = curl::text(&record.event, &request, now);
        assert!(!text.contains(SECRET));
        run(folder.path(), "deliver.sh", &text, &["sh", "deliver.sh"], address);
        let (head, got) = requests.recv_timeout(PATIENCE).unwrap();
        assert_eq!(got, body);
        assert!(head.contains("stripe-signature: t=1767225999,v1="), "{head}");
        assert!(!head.contains("v1=00"), "the old signature is gone: {head}");
        assert!(head.contains("x-empty:"), "{head}");
        assert!(!head.contains("hidden"), "{head}");
    }
}

#[test]
fn an_exported_event_with_its_id_is_said_to_be_a_duplicate() {
    let address = "127.0.0.1:1".parse().unwrap();
    let mut record = record(TEXT.as_bytes());
    let now = Timestamp::from_seconds(1_767_225_999);
    let notes = |record: &EventRecord| {
        let request = resign::request(&record.event, Some(&facts(address)), now).unwrap();
        request.notes.join(" ")
    };
    assert!(notes(&record).contains("a different event"), "{}", notes(&record));
    record.event.identity.event_id = "evt_1".to_owned();
    assert!(notes(&record).contains("it is a duplicate"), "{}", notes(&record));
    record.event.body = Bytes::from_static(b"{}");
    assert!(notes(&record).contains("redacts"), "{}", notes(&record));
    record.event.raw_hash = BodyHash::of(b"{}");
    assert!(notes(&record).contains("will refuse it"), "{}", notes(&record));
    assert!(resign::request(&record.event, None, now).is_err());
}

#[test]
fn a_script_reads_a_secret_that_is_sent_as_it_is_from_the_environment() {
    let now = Timestamp::from_seconds(1_767_225_999);
    let token = "user:pass'$word 1";
    let places = [
        (
            r#"{ scheme = "token", header = "x-token", prefix = "Key " }"#,
            format!("x-token: Key {token}\r"),
        ),
        (
            r#"{ scheme = "basic" }"#,
            format!("authorization: Basic {}\r", STANDARD.encode(token)),
        ),
        (
            r#"{ scheme = "token", query = "key" }"#,
            format!("?key={token} HTTP"),
        ),
    ];
    for (scheme, expected) in places {
        let (address, requests) = handler();
        let scheme: toml::Table = toml::from_str(&format!("verify = {scheme}")).unwrap();
        let scheme: CustomScheme = scheme["verify"].clone().try_into().unwrap();
        let identity = facts(address).recipe.identity;
        let facts = SourceFacts {
            provider: None,
            recipe: Recipe::custom(Proof::try_from(scheme).unwrap(), identity),
            secret: Some(Secret::new(token)),
            ..facts(address)
        };
        let record = record(TEXT.as_bytes());
        let request = resign::request(&record.event, Some(&facts), now).unwrap();
        let text = curl::text(&record.event, &request, now);
        assert!(
            !text.contains("pass") && !text.contains(&STANDARD.encode(token)),
            "{text}"
        );
        let unset = Command::new("sh")
            .args(["-c", &text])
            .env_remove("TOKEN")
            .output()
            .unwrap();
        assert!(!unset.status.success(), "{unset:?}");
        // A URL contains no spaces or quotes: the user who sets a query encodes it.
        let set = Command::new("sh")
            .args(["-c", &text])
            .env(
                "TOKEN",
                if expected.starts_with('?') {
                    "user:pass"
                } else {
                    token
                },
            )
            .output()
            .unwrap();
        assert!(set.status.success(), "{set:?}");
        let (head, _) = requests.recv_timeout(PATIENCE).unwrap();
        // The handler records heads in lower case.
        let expected = expected
            .replace("?key=user:pass'$word 1", "?key=user:pass")
            .to_lowercase();
        assert!(head.contains(&expected), "{head}");
    }
}

/// One event of a batch of this provider, as stored, and its source. Its id is the one that Hapax reads from a
/// request with the sample alone.
fn of_batch(provider: &'static catalogue::Provider) -> (EventRecord, SourceFacts) {
    let secret = generate_secret(provider, &[7; 32]).signing;
    let facts = SourceFacts {
        provider: Some(provider),
        recipe: provider.recipe(),
        options: provider.sample_options(),
        secret: Some(Secret::new(secret.clone())),
        url: "https://hooks.example.com/in/batches".to_owned(),
        redact: Redaction::default(),
    };
    let mut delivery = sample::of_provider(provider, "1000000000000001").delivery(1_767_225_600);
    if let Some(Split::Array {
        content_type: Some(content_type),
        ..
    }) = &provider.identity.split
    {
        delivery.headers = vec![("content-type".to_owned(), content_type.clone())];
        delivery.body = [&b"["[..], &delivery.body, b"]"].concat();
    }
    delivery.url.clone_from(&facts.url);
    let sender = ProviderSigner::new(provider, &secret, &facts.options).unwrap();
    let signed = sender.sign(delivery);
    let verifier = Verifier::new(&facts.recipe, &[&secret], &facts.options).unwrap();
    let request = Request::new(&signed.headers, &signed.body, 1_767_225_600).url(&signed.url);
    let Ok(Verification::Events(events)) = verifier.verify(&request) else {
        panic!("{}", provider.name);
    };
    let mut record = record(&events[0].body.of(&signed.body));
    record.event.identity.event_id.clone_from(&events[0].event_id);
    record.event.batch = Some((record.event.id, 1));
    record.event.headers = Headers::pack(
        signed
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    );
    (record, facts)
}

/// The providers whose requests carry several events, except for one that signs with a key that no source has.
fn batch_senders() -> impl Iterator<Item = &'static catalogue::Provider> {
    let all = catalogue::all().iter();
    all.filter(|provider| provider.identity.split.is_some() && provider.name != "sendgrid")
}

#[test]
fn an_exported_event_of_a_batch_is_a_request_that_is_a_duplicate() {
    let now = Timestamp::from_seconds(1_767_312_000);
    assert!(batch_senders().count() >= 11);
    for provider in batch_senders() {
        let (record, facts) = of_batch(provider);
        let request = resign::request(&record.event, Some(&facts), now).unwrap();
        let notes = request.notes.join(" ");
        // The id is a hash of the original request (Pusher), which no other request has.
        let mut places = provider.identity.event_id.fields().flat_map(Field::paths);
        let expected = if places.any(|place| *place == ValuePath::RequestSha256) {
            "its id was derived from the whole original request"
        } else {
            "it is a duplicate"
        };
        assert!(notes.contains(expected), "{}: {notes}", provider.name);
        assert!(notes.contains("It arrived in a"), "{}: {notes}", provider.name);
    }
}

#[test]
fn a_test_of_an_event_of_a_batch_delivers_what_a_destination_gets() {
    for provider in batch_senders() {
        let (record, facts) = of_batch(provider);
        let exported = ExportedEvent::of(&record, Some(&facts));
        let value = |wanted: &str| exported.headers.iter().find(|(name, _)| name == wanted);
        for signature in facts.recipe.proof.headers() {
            assert!(value(&signature).is_none(), "{}: {signature}", provider.name);
        }
        let id = value("hapax-event-id").unwrap();
        assert_eq!(id.1, record.event.identity.event_id, "{}", provider.name);
        assert!(value("hapax-batch-index").is_some(), "{}", provider.name);
        let content_type = value("content-type").unwrap();
        assert!(!content_type.1.contains("batch"), "{}", provider.name);
    }
}

/// What a command prints, given this input.
fn printed(command: &[&str], input: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("input"), input).unwrap();
    let output = Command::new(command[0])
        .args(&command[1..])
        .current_dir(folder.path())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", command[0]));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{input}");
    output.stdout
}

/// The bytes of `BODY` in a Python file that compiles.
fn python_body(text: &str) -> Vec<u8> {
    let program = "import ast, sys\n\
                   tree = ast.parse(open('input').read())\n\
                   named = [node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == 'BODY']\n\
                   sys.stdout.buffer.write(ast.literal_eval(named[0].value))";
    printed(&["python3", "-c", program], text)
}

/// The bytes of `body` in a file of TypeScript.
fn typescript_body(text: &str) -> Vec<u8> {
    let start = text.find("const body = ").unwrap();
    let end = start + text[start..].find(";\n").unwrap();
    let program = "eval(require('fs').readFileSync('input', 'utf8') + '; process.stdout.write(body)')";
    printed(&["node", "-e", program], &text[start..end])
}

#[test]
fn a_test_that_signs_has_the_exact_body_and_no_secret() {
    let facts = facts("127.0.0.1:1".parse().unwrap());
    for body in bodies() {
        let record = record(&body);
        let test = SigningTest::of(&record.event, Some(&facts));
        let (python, typescript) = (pytest::text(&test), vitest::text(&test));
        assert_eq!(python_body(&python), body);
        assert_eq!(typescript_body(&typescript), body);
        assert!(!python.contains(SECRET) && !typescript.contains(SECRET));
        assert!(
            python.contains("Source.provider(\"stripe\", [os.environ[\"STRIPE_WEBHOOK_SECRET\"]])"),
            "{python}"
        );
        assert!(
            typescript
                .contains("Source.provider(\"stripe\", { secrets: [process.env.STRIPE_WEBHOOK_SECRET!] })"),
            "{typescript}"
        );
    }
}

#[test]
fn the_source_of_a_test_has_the_options_of_its_provider_but_not_their_secrets() {
    for provider in catalogue::all() {
        let pair = generate_secret(provider, &[7; 32]);
        let mut options = provider.sample_options();
        let confidential = provider
            .options
            .iter()
            .filter(|spec| spec.kind == OptionKind::Secret);
        for spec in confidential {
            options.set(&spec.name, OptionValue::Text("CONFIDENTIAL".to_owned()));
        }
        let facts = SourceFacts {
            provider: Some(provider),
            recipe: provider.recipe(),
            options,
            secret: Some(Secret::new(pair.verifying.clone())),
            ..facts("127.0.0.1:1".parse().unwrap())
        };
        let record = record(b"{}");
        let test = SigningTest::of(&record.event, Some(&facts));
        let (python, typescript) = (pytest::text(&test), vitest::text(&test));
        for text in [&python, &typescript] {
            assert!(!text.contains("CONFIDENTIAL"), "{text}");
            assert!(
                !text.contains(&pair.signing) && !text.contains(&pair.verifying),
                "{text}"
            );
            for spec in provider.options.iter().filter(|spec| spec.required) {
                assert!(
                    text.contains(&format!("\"{}\": ", spec.name)),
                    "{}\n{text}",
                    spec.name
                );
            }
        }
        python_body(&python);
    }
}

#[test]
fn an_event_without_a_preset_is_tested_as_hapax_delivers_it() {
    let record = record(b"{}");
    let test = SigningTest::of(&record.event, None);
    let python = pytest::text(&test);
    assert!(
        python.contains("Source.hapax([os.environ[\"APP_SIGNING_SECRET\"]])"),
        "{python}"
    );
    let typescript = vitest::text(&test);
    assert!(
        typescript.contains("Source.hapax({ secrets: [process.env.APP_SIGNING_SECRET!] })"),
        "{typescript}"
    );
}

#[test]
fn an_id_and_a_type_in_headers_are_given_to_the_sample() {
    let provider = catalogue::get("github").unwrap();
    let facts = SourceFacts {
        provider: Some(provider),
        recipe: provider.recipe(),
        options: provider.sample_options(),
        ..facts("127.0.0.1:1".parse().unwrap())
    };
    let mut record = record(b"{}");
    record.event.identity.event_id = "72d3162e-cc78-11e3-81ab-4c9367dc0958".to_owned();
    record.event.event_type = Some("push".to_owned());
    let test = SigningTest::of(&record.event, Some(&facts));
    let python = pytest::text(&test);
    let expected = "source.sample(\"push\", event_id=\"72d3162e-cc78-11e3-81ab-4c9367dc0958\", body=BODY)";
    assert!(python.contains(expected), "{python}");
    let typescript = vitest::text(&test);
    let expected =
        "source.sample(\"push\", { eventId: \"72d3162e-cc78-11e3-81ab-4c9367dc0958\", path, body })";
    assert!(typescript.contains(expected), "{typescript}");
}

#[test]
fn an_event_of_a_batch_is_tested_as_a_batch_of_one() {
    let mut wrapped = 0;
    for provider in batch_senders() {
        let (record, facts) = of_batch(provider);
        let test = SigningTest::of(&record.event, Some(&facts));
        let position = test
            .body
            .windows(record.event.body.len())
            .any(|part| part == record.event.body);
        assert!(
            position,
            "{}: the event is in the request byte for byte",
            provider.name
        );
        wrapped += usize::from(test.body.len() > record.event.body.len());
    }
    assert!(wrapped > 0);
}
