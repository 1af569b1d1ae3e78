//! Searching: every filter finds what it says, alone and combined, over pages of any size.

use hapax_core::store::{
    BodyTerm, ConflictingBody, DuplicateCount, DuplicateNote, EventQuery, Forgotten, Has, IndexedValue,
    ReplayMode,
};
use hapax_core::{AttemptOutcome, BodyHash, ErrorClass, EventId, EventStatus, Headers, NewEvent};

use crate::Bench;
use crate::bench::Must;
use crate::clock::START;

/// By destination, whatever happened to the delivery.
pub async fn events_are_found_by_where_they_went(bench: &mut Bench) {
    let done = bench.completed("done", "billing").await;
    let dead = died(bench, "dead", "billing", ErrorClass::Refused).await;
    bench.stored(bench.event("ignored")).await;
    let other = bench.stored(bench.event("other").to("audit")).await;
    let both = bench.stored(bench.event("both").to("audit").to("billing")).await;
    let to = |name: &str| EventQuery {
        to: Some(name.into()),
        ..EventQuery::default()
    };
    finds(bench, &to("billing"), &[both, dead, done]).await;
    finds(bench, &to("audit"), &[both, other]).await;
    finds(bench, &to("nobody"), &[]).await;
    let pending = EventQuery {
        status: Some(EventStatus::Pending),
        ..to("billing")
    };
    finds(bench, &pending, &[both]).await;
    // Dead elsewhere and completed here: it went here all the same.
    let reason = ErrorClass::Refused;
    assert_eq!(bench.run("audit", AttemptOutcome::Dead { reason }).await, other);
    assert_eq!(bench.run("audit", AttemptOutcome::Dead { reason }).await, both);
    assert_eq!(bench.run("billing", AttemptOutcome::Completed).await, both);
    let given_up = EventQuery {
        status: Some(EventStatus::Dead),
        ..to("billing")
    };
    finds(bench, &given_up, &[both, dead]).await;
}

/// By why a delivery died; combined with a destination, only that destination's delivery counts.
pub async fn events_are_found_by_why_they_were_given_up(bench: &mut Bench) {
    let timeout = died(bench, "timeout", "billing", ErrorClass::Timeout).await;
    let refused = died(bench, "refused", "billing", ErrorClass::Refused).await;
    let elsewhere = died(bench, "elsewhere", "audit", ErrorClass::Timeout).await;
    bench.completed("done", "billing").await;
    let both = bench.stored(bench.event("both").to("audit").to("billing")).await;
    let reason = ErrorClass::Timeout;
    assert_eq!(bench.run("audit", AttemptOutcome::Dead { reason }).await, both);
    let ask = |to: Option<&str>, error, status| EventQuery {
        to: to.map(Into::into),
        error: Some(error),
        status,
        ..EventQuery::default()
    };
    let why = ErrorClass::Timeout;
    finds(bench, &ask(None, why, None), &[both, elsewhere, timeout]).await;
    finds(bench, &ask(Some("billing"), why, None), &[timeout]).await;
    finds(bench, &ask(Some("audit"), why, None), &[both, elsewhere]).await;
    finds(bench, &ask(Some("audit"), ErrorClass::Refused, None), &[]).await;
    finds(bench, &ask(None, ErrorClass::Refused, None), &[refused]).await;
    let dead = Some(EventStatus::Dead);
    finds(bench, &ask(Some("audit"), why, dead), &[elsewhere]).await;
    let dead_to = EventQuery {
        to: Some("billing".into()),
        status: dead,
        ..EventQuery::default()
    };
    finds(bench, &dead_to, &[refused, timeout]).await;
    bench.replay(timeout, ReplayMode::Failed).await;
    finds(bench, &ask(Some("billing"), why, None), &[]).await;
}

/// By the number of duplicates, both ends included, also for an identity that was forgotten and taken again.
pub async fn events_are_found_by_their_duplicates(bench: &mut Bench) {
    let mut events = Vec::new();
    for count in 0..4 {
        let event = bench.event(&format!("evt_{count}")).build();
        bench.stored(event.clone().into()).await;
        note(bench, &event, count).await;
        events.push(event);
    }
    let id = |place: usize| events[place].id;
    let ask = |min, max| EventQuery {
        duplicates: Some(DuplicateCount { min, max }),
        ..EventQuery::default()
    };
    finds(bench, &ask(1, None), &[id(3), id(2), id(1)]).await;
    finds(bench, &ask(2, Some(2)), &[id(2)]).await;
    finds(bench, &ask(0, Some(0)), &[id(0)]).await;
    finds(bench, &ask(0, Some(1)), &[id(1), id(0)]).await;
    note(bench, &events[1], 9).await;
    finds(bench, &ask(4, None), &[id(1)]).await;
    let forgotten = bench.store.forget(&events[1].identity).await.must();
    assert!(matches!(forgotten, Forgotten::Done { .. }));
    finds(bench, &ask(4, None), &[id(1)]).await;
    let again = bench.stored(bench.event("evt_1")).await;
    finds(bench, &ask(4, None), &[again, id(1)]).await;
}

/// By having a conflict.
pub async fn events_are_found_by_their_conflicts(bench: &mut Bench) {
    let one = bench.event("one").build();
    let two = bench.event("two").build();
    for event in [&one, &two] {
        bench.stored(event.clone().into()).await;
    }
    for body in [&b"first"[..], b"second", b"first"] {
        let other_body = ConflictingBody {
            key: one.key,
            first: one.id,
            source: one.source.clone(),
            raw_hash: BodyHash::of(body),
            received_at: START,
            headers: Headers::pack([("a", &b"b"[..])]),
            body: body.into(),
        };
        bench.record_conflicts(vec![other_body]).await;
    }
    let ask = |source: Option<&str>| EventQuery {
        has: Some(Has::Conflict),
        source: source.map(Into::into),
        ..EventQuery::default()
    };
    finds(bench, &ask(None), &[one.id]).await;
    finds(bench, &ask(Some("shop")), &[one.id]).await;
    finds(bench, &ask(Some("bank")), &[]).await;
}

/// By the provider's id, or by the Hapax id.
pub async fn events_are_found_by_either_id(bench: &mut Bench) {
    let one = bench.stored(bench.event("one")).await;
    let two = bench.stored(bench.event(&one.to_string())).await;
    let ask = |id: String| EventQuery {
        event_id: Some(id),
        ..EventQuery::default()
    };
    finds(bench, &ask("one".to_owned()), &[one]).await;
    finds(bench, &ask(one.to_string()), &[two, one]).await;
    finds(bench, &ask(two.to_string()), &[two]).await;
    finds(bench, &ask(bench.id().to_string()), &[]).await;
}

/// By values in bodies, which are read one after another and counted.
pub async fn events_are_found_by_values_in_their_bodies(bench: &mut Bench) {
    let one = bench
        .stored(bench.event("one").body(r#"{"a":{"id":"x"},"n":1}"#))
        .await;
    let two = bench
        .stored(bench.event("two").body(r#"{"a":{"id":"x"},"n":2}"#))
        .await;
    bench.stored(bench.event("three").body("not JSON")).await;
    bench.stored(bench.event("four").body(r#"{"a":"x"}"#)).await;
    let ask = |terms: &[(&str, &str)]| EventQuery {
        body: terms
            .iter()
            .map(|(pointer, value)| term(pointer, value))
            .collect(),
        ..EventQuery::default()
    };
    finds(bench, &ask(&[("/a/id", "x")]), &[two, one]).await;
    finds(bench, &ask(&[("/a/id", "x"), ("/n", "1")]), &[one]).await;
    finds(bench, &ask(&[("/n", "3")]), &[]).await;
    let page = bench.store.list(&ask(&[("/n", "3")]), None, 10).await.must();
    assert_eq!((page.bodies_read, page.next), (4, None));
    let named = EventQuery {
        event_id: Some("two".to_owned()),
        ..ask(&[("/n", "2")])
    };
    let page = bench.store.list(&named, None, 10).await.must();
    assert_eq!((page.events.len(), page.bodies_read), (1, 1));
}

/// By an indexed value: only events accepted with it, and only if the body has it, too.
pub async fn indexed_values_are_found_without_reading_other_bodies(bench: &mut Bench) {
    let with_id = |name: &str, id: &str| bench.event(name).body(format!("{{\"id\":\"{id}\"}}"));
    bench.stored(with_id("unindexed", "x")).await;
    let one = bench.stored(with_id("one", "x").with(index)).await;
    bench.stored(with_id("other", "y").with(index)).await;
    let two = bench
        .stored(with_id("two", "x").from_source("bank").with(index))
        .await;
    let liar = with_id("liar", "z").with(|event| {
        event.indexed = vec![IndexedValue::of_term(&term("/id", "x"))];
    });
    bench.stored(liar).await;
    let query = EventQuery {
        body: vec![term("/id", "x")],
        by_index: Some(0),
        ..EventQuery::default()
    };
    bench.reopen().await;
    finds(bench, &query, &[two, one]).await;
    let page = bench.store.list(&query, None, 10).await.must();
    assert_eq!(page.bodies_read, 0);
    let of_shop = EventQuery {
        source: Some("shop".into()),
        ..query.clone()
    };
    finds(bench, &of_shop, &[one]).await;
    let unknown = EventQuery {
        body: vec![term("/never", "x")],
        ..query
    };
    finds(bench, &unknown, &[]).await;
}

/// A rare source or type is found on the first page.
pub async fn sources_and_types_are_found_alone_and_together(bench: &mut Bench) {
    let rare = bench
        .stored(bench.event("rare").of_type("rare.one").from_source("bank"))
        .await;
    let untyped = bench
        .stored(
            bench
                .event("untyped")
                .from_source("bank")
                .with(|event| event.event_type = None),
        )
        .await;
    let mut expected = Vec::new();
    for n in 0..12 {
        expected.insert(0, bench.stored(bench.event(&format!("evt_{n}"))).await);
    }
    let other = bench.stored(bench.event("other").of_type("rare.two")).await;
    let ask = |source: Option<&str>, pattern: Option<&str>| EventQuery {
        source: source.map(Into::into),
        event_type: pattern.map(str::to_owned),
        ..EventQuery::default()
    };
    finds(bench, &ask(Some("bank"), None), &[untyped, rare]).await;
    finds(bench, &ask(None, Some("rare.*")), &[other, rare]).await;
    finds(bench, &ask(Some("bank"), Some("rare.*")), &[rare]).await;
    finds(bench, &ask(Some("shop"), Some("order.paid")), &expected).await;
    finds(bench, &ask(Some("bank"), Some("order.paid")), &[]).await;
    finds(bench, &ask(Some("nobody"), None), &[]).await;
    expected.insert(0, other);
    finds(bench, &ask(Some("shop"), None), &expected).await;
}

/// Pages of any size find the same events, each once, newest first.
async fn finds(bench: &Bench, query: &EventQuery, expected: &[EventId]) {
    for limit in [1, 2, 100] {
        let found = bench.list(query, limit).await;
        let ids: Vec<EventId> = found.iter().map(|summary| summary.id).collect();
        assert_eq!(ids, expected, "{query:?} in pages of {limit}");
    }
}

async fn note(bench: &Bench, event: &NewEvent, count: u64) {
    if count > 0 {
        let note = DuplicateNote {
            key: event.key,
            count,
            last_at: START,
            gaps_ms: vec![1],
        };
        bench.store.note_duplicates(vec![note]).await.must();
    }
}

fn index(event: &mut NewEvent) {
    event.indexed = IndexedValue::of_body(&event.body, [&"/id".to_owned()]);
}

fn term(pointer: &str, value: &str) -> BodyTerm {
    BodyTerm {
        pointer: pointer.to_owned(),
        value: value.to_owned(),
    }
}

/// An event whose delivery died of this error.
async fn died(bench: &Bench, event_id: &str, destination: &str, reason: ErrorClass) -> EventId {
    let id = bench.stored(bench.event(event_id).to(destination)).await;
    assert_eq!(bench.run(destination, AttemptOutcome::Dead { reason }).await, id);
    id
}
