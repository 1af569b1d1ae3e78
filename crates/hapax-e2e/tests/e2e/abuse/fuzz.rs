//! Bytes that no one thought of: real requests, damaged at random, on both listeners. Nothing crashes or hangs, nothing
//! unsigned is stored, and real deliveries continue.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use hapax_testkit::{Delivery, Sender, Service, Setup, Wire, seed};

const LIMIT: Duration = Duration::from_secs(30);
/// `HAPAX_FUZZ_CASES` sets another number.
const CASES: usize = 1_500;
const EDITS_MAX: usize = 6;
/// Tokens that parsers trip over.
const TOKENS: [&[u8]; 20] = [
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\0",
    b": ",
    b"Content-Length: 0\r\n",
    b"content-length: 18446744073709551616\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: identity, chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n",
    b"Stripe-Signature: t=1,v1=\r\n",
    b"HTTP/1.0",
    b"GET ",
    b"%00%ff",
    b"/../",
    b"\xff\xfe",
    b"ffffffffffffffff\r\n",
    b"{\"id\":\"evt_other\"}",
    b"\"\\ud800\"",
];

#[expect(clippy::disallowed_methods, reason = "tests have variables of their own")]
fn cases() -> usize {
    let given = std::env::var("HAPAX_FUZZ_CASES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(CASES)
}

#[tokio::test]
async fn damaged_deliveries_crash_nothing_and_store_nothing_that_was_not_signed() {
    let mut random = fastrand::Rng::with_seed(seed());
    let service = Setup::new()
        .source("stripe", "stripe", "")
        .table("[server.limits]\nrefusals_per_peer = \"1000000/s\"")
        .start()
        .await;
    let sender = Sender::of("stripe");
    let mut signed = HashSet::new();
    for case in 0..cases() {
        let delivery = sender.event(&format!("evt_{case}"));
        signed.insert(delivery.event_id.clone());
        let bytes = damaged(wire(&delivery), &mut random);
        let answer = answer_to(service.address(), &bytes).await;
        assert_sane(&bytes, &answer);
    }
    for event in stored(&service).await {
        assert!(
            signed.contains(&event),
            "{event:?} was stored, and nobody had signed it"
        );
    }
    service.deliver_twice(&sender.event("evt_after")).await;
}

#[tokio::test]
async fn damaged_requests_to_the_admin_api_crash_nothing_and_open_nothing() {
    let mut random = fastrand::Rng::with_seed(seed());
    let service = Setup::new()
        .source("stripe", "stripe", "")
        .server("admin_token = \"0123456789abcdef\"")
        .start()
        .await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let paths = [
        "/api/v1/events",
        "/api/v1/stats",
        "/api/v1/events/evt_1/replay",
        "/api/v1/ledger/forget",
        "/readyz",
    ];
    for case in 0..cases() {
        let method = ["GET", "POST", "DELETE"][random.usize(..3)];
        let path = paths[case % paths.len()];
        let body = "{\"source\":\"stripe\",\"event_id\":\"evt_1\"}";
        let request = format!(
            "{method} {path}?limit=5&cursor=x HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer 0123456789abcde\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let bytes = damaged(request.into_bytes(), &mut random);
        let answer = answer_to(service.setup.admin, &bytes).await;
        assert_sane(&bytes, &answer);
        let opened =
            answer.starts_with("HTTP/1.1 2") && !answer.contains("\"ready\"") && answer.contains("evt_1");
        assert!(
            !opened,
            "{:?} was answered {answer:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
    service
        .deliver_twice(&Sender::of("stripe").event("evt_after"))
        .await;
}

fn wire(delivery: &Delivery) -> Vec<u8> {
    let more = format!("content-length: {}\r\nconnection: close\r\n", delivery.body.len());
    let mut bytes = delivery.head(&more);
    bytes.extend_from_slice(&delivery.body);
    bytes
}

fn damaged(mut bytes: Vec<u8>, random: &mut fastrand::Rng) -> Vec<u8> {
    for _ in 0..random.usize(1..=EDITS_MAX) {
        let at = random.usize(..bytes.len().max(1));
        let end = (at + random.usize(..64)).min(bytes.len());
        match random.u8(..7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
            3 | 4 => drop(bytes.splice(at..at, TOKENS[random.usize(..TOKENS.len())].iter().copied())),
            5 => drop(bytes.splice(at..end, TOKENS[random.usize(..TOKENS.len())].iter().copied())),
            _ => bytes[at..end]
                .iter_mut()
                .take(1)
                .for_each(|byte| *byte ^= 1 << random.u8(..8)),
        }
    }
    bytes
}

/// Sends exactly these bytes, and reads the response.
async fn answer_to(address: SocketAddr, bytes: &[u8]) -> String {
    let mut connection = Wire::open(address).await.patient_for(LIMIT);
    // It may be closed in the middle; the response up to then counts.
    let _ = connection.try_say(bytes).await;
    connection.finish_writing().await;
    connection.hear_out().await
}

fn assert_sane(bytes: &[u8], answer: &str) {
    let request = String::from_utf8_lossy(bytes);
    // One flipped bit turns the request into HTTP/1.0, which is answered as such.
    let in_kind = answer
        .strip_prefix("HTTP/1.0 ")
        .filter(|_| request.contains("HTTP/1.0"));
    let status = answer.strip_prefix("HTTP/1.1 ").or(in_kind);
    let failed = |status: &str| ["500", "502", "504"].iter().any(|it| status.starts_with(it));
    assert!(
        answer.is_empty() || status.is_some_and(|status| !failed(status)),
        "{request:?} was answered {answer:?}"
    );
}

/// The ids of all stored events.
async fn stored(service: &Service) -> Vec<String> {
    let outcome = service
        .hapax(&["events", "list", "--limit", "1000", "--json"])
        .await;
    let page: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let events = page["events"].as_array().unwrap();
    events
        .iter()
        .map(|event| event["event_id"].as_str().unwrap().to_owned())
        .collect()
}
