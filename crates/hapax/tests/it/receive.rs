//! Requests without a framework: verified, applied once, and answered.

use std::collections::BTreeMap;

use bytes::Bytes;
use hapax::answer::{Answer, Code};
use hapax::webhook::{Head, Reason, Refused, Source, Timestamp, Webhook};
use hapax::{Event, Inbox, Outcome};
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{OptionValue, Options, catalogue, sample};
use http::HeaderMap;
use rusqlite::Connection;

const NOW: i64 = 1_767_225_600;
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

struct Shop {
    database: Connection,
    source: Source,
}

impl Shop {
    fn new(source: Source) -> Self {
        let database = Connection::open_in_memory().unwrap();
        hapax::create_tables(&database).unwrap();
        database
            .execute_batch("create table account (balance integer); insert into account values (0)")
            .unwrap();
        Self { database, source }
    }

    /// Receives a request as a framework would, and adds one for each event.
    fn serve(&mut self, request: &Delivery, query: &str) -> Answer {
        let events = match receive(&self.source, request, query) {
            Ok(events) => events,
            Err(refused) => return refused.answer(),
        };
        let outcomes: Vec<_> = events
            .iter()
            .map(|event| (self.add(event.event()), event.event().event_id().to_owned()))
            .collect();
        self.source.answer(&outcomes)
    }

    fn add(&mut self, event: &Event) -> Outcome<()> {
        let inbox = Inbox::new("billing").unwrap();
        inbox
            .run_blocking(&mut self.database, event, |tx| {
                tx.execute("update account set balance = balance + 1", ())
                    .map(drop)
            })
            .unwrap()
    }

    fn balance(&self) -> i64 {
        self.database
            .query_row("select balance from account", (), |row| row.get(0))
            .unwrap()
    }
}

fn receive(source: &Source, request: &Delivery, query: &str) -> Result<Vec<Webhook>, Refused> {
    let headers: HeaderMap = request
        .headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    let head = Head {
        method: &request.method,
        query,
        headers: &headers,
    };
    source.receive(
        head,
        &Bytes::from(request.body.clone()),
        Timestamp::from_seconds(NOW),
    )
}

/// A signed sample of a provider, with both halves of its secret.
fn signed(provider: &str, options: &Options) -> (Delivery, SecretPair) {
    let preset = catalogue::get(provider).unwrap();
    let secret = generate_secret(preset, &[7; 32]);
    let signer = ProviderSigner::new(preset, &secret.signing, options).unwrap();
    let delivery = sample::of_provider(preset, "1234567890123456").delivery(NOW);
    (signer.sign(delivery), secret)
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let found = answer.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

#[test]
fn a_delivery_takes_effect_once_and_is_answered() {
    let (delivery, secret) = signed("stripe", &Options::default());
    let mut shop = Shop::new(Source::provider("stripe", &[secret.verifying]).unwrap());
    for word in ["accepted", "duplicate"] {
        let answer = shop.serve(&delivery, "");
        assert_eq!(
            (answer.status, header(&answer, "content-type")),
            (200, Some("application/json"))
        );
        assert!(text(&answer).contains(word), "{}", text(&answer));
    }
    assert_eq!(shop.balance(), 1);
}

#[test]
fn a_provider_that_insists_on_a_form_gets_it_for_success_refusal_and_limits() {
    let (delivery, secret) = signed("xero", &Options::default());
    let mut shop = Shop::new(Source::provider("xero", &[secret.verifying]).unwrap());
    for _ in 0..2 {
        let answer = shop.serve(&delivery, "");
        assert_eq!((answer.status, text(&answer)), (200, ""));
        assert_eq!(header(&answer, "content-type"), None);
    }
    assert_eq!(shop.balance(), 1);
    let mut forged = delivery;
    forged.body.push(b' ');
    let answer = shop.serve(&forged, "");
    assert_eq!((answer.status, text(&answer)), (401, ""));
    let large = shop.source.too_large().answer();
    assert_eq!((large.status, text(&large)), (413, ""));
}

#[test]
fn a_handshake_is_answered_and_not_handled() {
    let secret = "8f742231b10e8888abcd99yyyzzz85a5";
    let preset = catalogue::get("slack").unwrap();
    let signer = ProviderSigner::new(preset, secret, &Options::default()).unwrap();
    let delivery = signer.sign(Delivery {
        timestamp: NOW,
        body: br#"{"type":"url_verification","challenge":"abc"}"#.to_vec(),
        ..Delivery::default()
    });
    let mut shop = Shop::new(Source::provider("slack", &[secret]).unwrap());
    for _ in 0..2 {
        let refused = receive(&shop.source, &delivery, "").unwrap_err();
        assert_eq!(refused.code(), None);
        let answer = shop.serve(&delivery, "");
        assert_eq!((answer.status, text(&answer)), (200, "abc"));
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"));
    }
    assert_eq!(shop.balance(), 0);
}

#[test]
fn an_event_in_flight_makes_a_whole_batch_come_again() {
    let source = Source::provider("stripe", &["whsec_test"]).unwrap();
    let done = (Outcome::Processed(()), "a".to_owned());
    let held = (Outcome::InFlight, "b".to_owned());
    for outcomes in [vec![held.clone()], vec![done.clone(), held]] {
        let answer = source.answer(&outcomes);
        assert_eq!((answer.status, header(&answer, "retry-after")), (503, Some("1")));
        assert!(text(&answer).contains("in_flight"));
    }
    assert!(text(&source.answer(std::slice::from_ref(&done))).contains("\"accepted\""));
    assert!(text(&source.answer(&[done.clone(), done])).contains("\"accepted\":2"));
    assert!(text(&source.answer::<()>(&[])).contains("empty"));
}

/// The signature covers a body, and a GET's event would be its unsigned query.
#[test]
fn a_method_that_the_provider_does_not_deliver_with_is_refused() {
    let (mut delivery, secret) = signed("stripe", &Options::default());
    let mut shop = Shop::new(Source::provider("stripe", &[secret.verifying]).unwrap());
    delivery.method = "HEAD".to_owned();
    for _ in 0..2 {
        let answer = shop.serve(&delivery, "");
        assert_eq!((answer.status, header(&answer, "allow")), (405, Some("POST")));
    }
    assert_eq!(shop.balance(), 0);
}

#[test]
fn the_query_belongs_to_the_url_that_the_provider_signs() {
    let url = "https://hooks.example.com/hubspot";
    let preset = catalogue::get("hubspot").unwrap();
    let secret = generate_secret(preset, &[7; 32]);
    let signer = ProviderSigner::new(preset, &secret.signing, &Options::default()).unwrap();
    let mut delivery = sample::of_provider(preset, "1234567890123456").delivery(NOW);
    delivery.url = format!("{url}?x=1");
    let delivery = signer.sign(delivery);
    let source = Source::provider("hubspot", &[secret.verifying]).unwrap();
    for public_url in [url, "https://hooks.example.com/hubspot?x=1"] {
        let mut shop = Shop::new(source.clone().public_url(public_url));
        for _ in 0..2 {
            assert_eq!(shop.serve(&delivery, "x=1").status, 200);
        }
        assert_eq!(shop.balance(), 1);
    }
    let mut shop = Shop::new(source.public_url(url));
    assert_eq!(shop.serve(&delivery, "x=2").status, 401);
}

fn paypal() -> (Source, Delivery, Delivery) {
    let webhook_id = OptionValue::Text("8PT597110X687430LKGECATA".to_owned());
    let options: Options = [("webhook_id", webhook_id)].into_iter().collect();
    let (genuine, secret) = signed("paypal", &options);
    let mut forged = genuine.clone();
    let changed = String::from_utf8(forged.body).unwrap().replace("20.00", "99.00");
    forged.body = with_checksum_of(&genuine.body, changed.into_bytes());
    let source = Source::provider_with("paypal", &[secret.verifying], &options).unwrap();
    (source, genuine, forged)
}

/// A body with the checksum of another: what anyone can make who has seen one delivery.
fn with_checksum_of(wanted: &[u8], mut body: Vec<u8>) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        let step = |crc: u32, _| {
            if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        };
        !bytes
            .iter()
            .fold(!0_u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
    };
    // Each of 32 bits behind the body changes the checksum linearly: choose those that make up the difference.
    let at = body.len();
    body.extend(std::iter::repeat_n(b' ', 128));
    let spaces = crc(&body);
    let mut rows: Vec<(u32, Vec<usize>)> = Vec::new();
    for place in at..body.len() {
        // A tab is JSON's whitespace, too.
        body[place] = b'\t';
        let mut effect = crc(&body) ^ spaces;
        body[place] = b' ';
        let mut places = vec![place];
        for (row, used) in &rows {
            if effect & (1 << row.ilog2()) != 0 {
                effect ^= row;
                places.extend(used);
            }
        }
        if effect != 0 {
            rows.push((effect, places));
        }
    }
    let mut difference = spaces ^ crc(wanted);
    for (row, places) in &rows {
        if difference & (1 << row.ilog2()) != 0 {
            difference ^= row;
            for place in places {
                body[*place] ^= b' ' ^ b'\t';
            }
        }
    }
    assert_eq!(crc(&body), crc(wanted));
    body
}

#[test]
fn another_body_under_the_same_transmission_is_a_conflict_whatever_id_it_has() {
    let (source, genuine, forged) = paypal();
    let other = String::from_utf8(genuine.body.clone())
        .unwrap()
        .replace("1234567890123456", "9876543210987654");
    let mut renamed = genuine.clone();
    renamed.body = with_checksum_of(&genuine.body, other.into_bytes());
    let mut shop = Shop::new(source);
    for (delivery, word) in [
        (&genuine, "accepted"),
        (&genuine, "duplicate"),
        (&forged, "conflict"),
        (&renamed, "conflict"),
        (&renamed, "conflict"),
        (&genuine, "duplicate"),
    ] {
        let answer = shop.serve(delivery, "");
        assert!(
            answer.status == 200 && text(&answer).contains(word),
            "{word}: {}",
            text(&answer)
        );
    }
    assert_eq!(shop.balance(), 1);
}

#[test]
fn a_key_that_is_not_known_is_named_and_one_that_is_set_verifies() {
    let vectors = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../hapax-verify/tests/vectors/aws-sns.json"
    );
    let file: hapax_verify::vectors::File =
        serde_json::from_str(&std::fs::read_to_string(vectors).unwrap()).unwrap();
    let vector = file
        .vectors
        .iter()
        .find(|vector| vector.name == "aws_sns-valid-v2")
        .unwrap();
    let source = Source::provider_with("aws-sns", &vector.secrets, &vector.options()).unwrap();
    let headers: HeaderMap = vector
        .headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    let head = Head {
        method: "POST",
        query: "",
        headers: &headers,
    };
    let receive =
        |source: &Source| source.receive(head, &vector.body().into(), Timestamp::from_seconds(vector.now));
    let refused = receive(&source).unwrap_err();
    assert_eq!(refused.code(), Some(Code::KeyUnavailable));
    let answer = refused.answer();
    assert_eq!((answer.status, header(&answer, "retry-after")), (503, Some("5")));
    let Reason::NeedsKey(key) = refused.reason else {
        panic!("{refused}");
    };
    let bytes = vector.keys().remove(&key.key_id).unwrap();
    let mut shop = Shop::new(source.keys(BTreeMap::from([(key.key_id, bytes)])));
    for expected in [Outcome::Processed(()), Outcome::Duplicate] {
        let events = receive(&shop.source).unwrap();
        assert_eq!(shop.add(events[0].event()), expected);
    }
    assert_eq!(shop.balance(), 1);
}

/// A delivery as the gateway signs it, with these further headers.
fn passed_on(key: &str, more: &[(&str, &str)]) -> Delivery {
    let preset = catalogue::get("standard-webhooks").unwrap();
    let signer = ProviderSigner::new(preset, SECRET, &Options::default()).unwrap();
    let headers = more
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    signer.sign(Delivery {
        id: key.to_owned(),
        timestamp: NOW,
        headers: headers.collect(),
        body: br#"{"id":"evt_1","type":"invoice.paid"}"#.to_vec(),
        ..Delivery::default()
    })
}

#[test]
fn behind_the_gateway_the_signed_key_is_what_is_claimed() {
    let mut shop = Shop::new(Source::hapax(&[SECRET]).unwrap());
    let delivery = |key, attempt, event_id| {
        passed_on(
            key,
            &[
                ("idempotency-key", key),
                ("hapax-source", "stripe"),
                ("hapax-event-id", event_id),
                ("hapax-event-type", "invoice.paid"),
                ("hapax-attempt", attempt),
                ("hapax-received-at", "2026-01-01T00:00:00.000000Z"),
            ],
        )
    };
    let first = delivery("8e03", "1", "%C3%A9vt");
    let event = &receive(&shop.source, &first, "").unwrap()[0];
    assert_eq!(
        (event.event().source(), event.event().event_id()),
        ("hapax", "8e03")
    );
    assert_eq!(
        (event.event().generation().0, event.event_type()),
        (0, Some("invoice.paid"))
    );
    let via = event.via_hapax().unwrap();
    assert_eq!(
        (via.event_id.as_deref(), via.source.as_deref(), via.attempt),
        (Some("évt"), Some("stripe"), Some(1))
    );
    // What is not signed does not make the second attempt another event.
    for (delivery, word) in [
        (first, "accepted"),
        (delivery("8e03", "2", "another"), "duplicate"),
        (delivery("8e04", "1", "%C3%A9vt"), "accepted"),
    ] {
        let answer = shop.serve(&delivery, "");
        assert!(text(&answer).contains(word), "{word}: {}", text(&answer));
    }
    assert_eq!(shop.balance(), 2);
}

#[test]
fn behind_the_gateway_another_key_than_the_signed_one_is_refused() {
    let mut shop = Shop::new(Source::hapax(&[SECRET]).unwrap().named("stripe").unwrap());
    let changed = passed_on("8e03", &[("idempotency-key", "8e04")]);
    for _ in 0..2 {
        let answer = shop.serve(&changed, "");
        assert!(
            answer.status == 401 && text(&answer).contains("webhook-id"),
            "{}",
            text(&answer)
        );
    }
    for key in ["8e03", "\"8e03\""] {
        assert_eq!(
            shop.serve(&passed_on("8e03", &[("idempotency-key", key)]), "")
                .status,
            200
        );
    }
    assert_eq!(shop.serve(&passed_on("8e03", &[]), "").status, 200);
    assert_eq!(shop.balance(), 1);
    let mut forged = passed_on("8e03", &[]);
    forged.body.push(b' ');
    assert_eq!(shop.serve(&forged, "").status, 401);
}

#[test]
fn a_refused_request_is_explained_to_its_operator() {
    let (mut delivery, secret) = signed("stripe", &Options::default());
    let source = Source::provider("stripe", &[secret.verifying]).unwrap();
    delivery.body.extend(b"\n");
    let headers: HeaderMap = delivery
        .headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    let head = Head {
        method: "POST",
        query: "",
        headers: &headers,
    };
    for _ in 0..2 {
        assert_eq!(
            receive(&source, &delivery, "").unwrap_err().code(),
            Some(Code::SignatureInvalid)
        );
        let mistake = source
            .explain(head, &delivery.body, Timestamp::from_seconds(NOW))
            .unwrap();
        assert!(mistake.to_string().contains("body was changed"), "{mistake}");
    }
}

#[test]
fn a_handshake_that_a_library_cannot_complete_names_the_gateway() {
    let source = Source::provider("asana", &["asana-secret"]).unwrap();
    let handshake = Delivery {
        headers: vec![("x-hook-secret".to_owned(), "0123456789abcdef".to_owned())],
        ..Delivery::default()
    };
    for _ in 0..2 {
        let refused = receive(&source, &handshake, "").unwrap_err();
        assert_eq!(refused.code(), Some(Code::HandshakeRefused));
        assert!(refused.to_string().contains("gateway"), "{refused}");
        assert!(!text(&refused.answer()).contains("0123456789abcdef"));
    }
}
