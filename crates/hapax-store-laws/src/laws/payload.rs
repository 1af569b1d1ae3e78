//! Payloads: whatever arrived is returned byte for byte, wherever it is shown.

use hapax_core::store::ConflictingBody;
use hapax_core::{Headers, StoredEvent, Timestamp};

use crate::Bench;
use crate::bench::{Draft, Must};
use crate::clock::START;

const MEBIBYTE: usize = 1024 * 1024;

/// Bodies that are not text.
pub async fn a_body_that_is_not_text_comes_back_byte_for_byte(bench: &mut Bench) {
    let every_byte: Vec<u8> = (0..=255).collect();
    comes_back(bench, bench.event("bytes").body(every_byte)).await;
    comes_back(bench, bench.event("nul").body(&b"\0\0\xff\xfe\0"[..])).await;
}

/// An empty body is a body, too.
pub async fn an_empty_body_comes_back_empty(bench: &mut Bench) {
    comes_back(bench, bench.event("empty").body("")).await;
}

/// Large bodies are not truncated.
pub async fn a_body_of_a_mebibyte_comes_back_whole(bench: &mut Bench) {
    let body: Vec<u8> = (0..MEBIBYTE).map(|n| (n % 251) as u8).collect();
    comes_back(bench, bench.event("large").body(body)).await;
}

/// Headers keep their order, case, repetition and bytes.
pub async fn headers_come_back_as_they_arrived(bench: &mut Bench) {
    let pairs: [(&str, &[u8]); 6] = [
        ("X-Twice", b"one"),
        ("x-twice", b"two"),
        ("Empty", b""),
        ("latin", b"caf\xe9"),
        ("raw", b"\x00\xff"),
        ("Content-Type", b"text/plain"),
    ];
    let draft = bench
        .event("headers")
        .with(|event| event.headers = Headers::pack(pairs));
    let stored = comes_back(bench, draft).await;
    assert_eq!(stored.headers.iter().collect::<Vec<_>>(), pairs);
    comes_back(
        bench,
        bench
            .event("none")
            .with(|event| event.headers = Headers::default()),
    )
    .await;
}

/// All other fields of an event.
pub async fn every_field_of_an_event_comes_back(bench: &mut Bench) {
    let request = bench.id();
    let full = bench
        .event_in("a scope", "evt_full")
        .from_source("a source")
        .with(|event| {
            event.event_type = Some("invoice.päid".to_owned());
            event.received_at = Timestamp::from_micros(START.as_micros() + 123_456);
            event.signed_at = Some(Timestamp::from_micros(START.as_micros() - 7));
            event.secret_index = Some(u16::MAX);
            event.batch = Some((request, 41));
        });
    comes_back(bench, full).await;
    let bare = bench.event("evt_bare").with(|event| {
        event.event_type = None;
        event.signed_at = None;
        event.secret_index = None;
    });
    comes_back(bench, bare).await;
}

/// A conflicting body is stored as it arrived, with everything needed to release it.
pub async fn a_conflicting_body_comes_back_byte_for_byte(bench: &mut Bench) {
    let first = bench.event("evt_1").build();
    bench.stored(Draft::from(first.clone())).await;
    let other = bench.event("evt_1").body(&b"\xff\x00other"[..]).build();
    let other_body = ConflictingBody {
        key: first.key,
        first: first.id,
        source: other.source.clone(),
        raw_hash: other.raw_hash,
        received_at: START,
        headers: Headers::pack([("Odd", &b"\x00\xff"[..])]),
        body: other.body.clone(),
    };
    bench.record_conflicts(vec![other_body.clone()]).await;
    let kept = bench.store.conflict(first.id, other.raw_hash).await.must().must();
    assert_eq!(kept.key, other_body.key);
    assert_eq!(kept.first, other_body.first);
    assert_eq!(kept.source, other_body.source);
    assert_eq!(kept.raw_hash, other_body.raw_hash);
    assert_eq!(kept.received_at, other_body.received_at);
    assert_eq!(kept.headers, other_body.headers);
    assert_eq!(kept.body, other_body.body);
}

/// Stores an event and compares it with the results of `get`, `list` and `lease`, also after a restart.
async fn comes_back(bench: &mut Bench, draft: Draft) -> StoredEvent {
    let event = draft.to("billing").build();
    let expected = StoredEvent::from(event.clone());
    bench.stored(Draft::from(event)).await;
    assert_eq!(bench.record(expected.id).await.event, expected);
    bench.reopen().await;
    assert_eq!(bench.record(expected.id).await.event, expected);
    let listed = bench.list(&hapax_core::store::EventQuery::default(), 100).await;
    let summary = listed.into_iter().find(|event| event.id == expected.id).must();
    assert_eq!(summary.body_bytes, expected.body.len() as u64);
    assert_eq!(summary.event_type, expected.event_type);
    let leased = bench.lease("billing").await.must();
    assert_eq!(leased.event, expected);
    bench
        .finished(&leased, hapax_core::AttemptOutcome::Completed)
        .await;
    expected
}
