//! Erasing: an event's contents are deleted at once, but the event stays known.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::store::{
    BodyTerm, Claim, ConflictingBody, Erased, EventQuery, IndexedField, IndexedValue, ReplayMode, Replayed,
    Unfinished, Written,
};
use hapax_core::{Attempt, AttemptOutcome, BodyHash, DeliveryState, EventId, EventStatus, Headers, OnDead};

use crate::Bench;
use crate::bench::{ALL, LONG, Must, again, dead};
use crate::clock::START;

const BODY: &str = r#"{"email":"ada@example.com"}"#;

/// Headers, body, indexed values, conflicts and destinations' responses are gone; the history of deliveries stays.
pub async fn what_an_erased_event_brought_is_gone(bench: &mut Bench) {
    let field = IndexedField {
        source: "shop".into(),
        pointer: "/email".to_owned(),
    };
    bench.store.declare_indexes(vec![field]).await.must();
    let values = IndexedValue::of_body(BODY.as_bytes(), [&"/email".to_owned()]);
    let draft = bench.event("evt_1").body(BODY).to("billing");
    let id = bench.stored(draft.with(|event| event.indexed = values)).await;
    bench.run("billing", AttemptOutcome::Completed).await;
    let conflict = conflict(bench, id).await;
    let attempts = bench.record(id).await.attempts.len();
    assert_eq!(found(bench).await, [id]);

    assert_eq!(
        erase(bench, id, Unfinished::Keep).await,
        Erased::Now { discarded: 0 }
    );
    for _ in 0..2 {
        let record = bench.record(id).await;
        assert!(record.event.headers.is_erased() && record.event.body.is_empty());
        assert!(record.conflicts.is_empty());
        assert!(bench.store.conflict(id, conflict).await.must().is_none());
        assert_eq!(record.attempts.len(), attempts);
        let is_silent = |attempt: &Attempt| attempt.excerpt.is_empty() && attempt.message.is_none();
        assert!(record.attempts.iter().all(|view| is_silent(&view.attempt)));
        assert_eq!(record.status, EventStatus::Completed);
        assert!(
            found(bench).await.is_empty(),
            "it is not found by its old contents"
        );
        bench.reopen().await;
    }
    bench.copied().await;
    let exported = bench.record(id).await;
    assert!(exported.event.headers.is_erased() && exported.event.body.is_empty());
    assert_eq!(bench.replay(id, ReplayMode::All).await, Replayed::NotFound);
}

/// The ledger entry stays.
pub async fn an_erased_event_that_arrives_again_is_a_duplicate(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").body(BODY)).await;
    let before = bench.look_up("evt_1").await.must();
    assert_eq!(
        erase(bench, id, Unfinished::Keep).await,
        Erased::Now { discarded: 0 }
    );
    let claim = bench.accept(bench.event("evt_1").body(BODY).to("billing")).await;
    assert_eq!(claim, Claim::Seen(before), "with the hash of its body");
    assert!(bench.lease("billing").await.is_none());
}

/// Nothing changes the second time, and an event that does not exist is not erased.
pub async fn erasing_twice_changes_nothing(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    let other = bench.id();
    for expected in [Erased::Now { discarded: 0 }, Erased::Before] {
        let said = bench
            .store
            .erase(vec![other, id], Unfinished::Discard)
            .await
            .must();
        assert_eq!(said, [Erased::NotFound, expected]);
    }
}

/// A conflict that arrives later is stored like any other, and is deleted when the event is erased again.
pub async fn a_conflict_that_comes_after_an_erasure_can_be_erased(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").body(BODY)).await;
    erase(bench, id, Unfinished::Keep).await;
    let conflict = conflict(bench, id).await;
    assert_eq!(bench.record(id).await.conflicts.len(), 1);
    assert_eq!(erase(bench, id, Unfinished::Keep).await, Erased::Before);
    assert!(bench.record(id).await.conflicts.is_empty());
    assert!(bench.store.conflict(id, conflict).await.must().is_none());
}

/// Deliveries end only on request: they are then discarded, and a running one loses its lease.
pub async fn unfinished_deliveries_of_an_erased_event_are_discarded_on_purpose(bench: &mut Bench) {
    let draft = bench.event("evt_1").body(BODY);
    let id = bench
        .stored(draft.to("running").to("retrying").to("pending"))
        .await;
    let running = bench.lease("running").await.must();
    bench.run("retrying", again()).await;
    assert_eq!(erase(bench, id, Unfinished::Keep).await, Erased::Unfinished);
    assert_eq!(bench.record(id).await.event.body, BODY);

    assert_eq!(
        erase(bench, id, Unfinished::Discard).await,
        Erased::Now { discarded: 3 }
    );
    assert_eq!(bench.extend(&running.hold(), LONG).await, Written::LeaseLost);
    assert_eq!(
        bench.finish(&running.hold(), AttemptOutcome::Completed).await,
        Written::LeaseLost
    );
    for destination in ["running", "retrying", "pending"] {
        assert_eq!(
            bench.delivery(id, destination).await.state,
            DeliveryState::Discarded
        );
        assert!(bench.lease(destination).await.is_none());
    }
    assert!(
        bench
            .record(id)
            .await
            .attempts
            .iter()
            .all(|view| view.attempt.excerpt.is_empty())
    );
    assert!(bench.rescue().await.is_empty());
    let counts = bench.store.counts().await.must();
    let open = counts
        .backlog
        .iter()
        .filter(|backlog| backlog.state.is_unfinished());
    assert_eq!(open.map(|backlog| backlog.count).sum::<u64>(), 0);
}

/// There is nothing left to deliver.
pub async fn an_erased_event_is_never_replayed(bench: &mut Bench) {
    let done = bench.completed("done", "billing").await;
    let dead = bench.dead("dead", "billing").await;
    assert_eq!(
        erase(bench, done, Unfinished::Keep).await,
        Erased::Now { discarded: 0 }
    );
    assert_eq!(
        erase(bench, dead, Unfinished::Keep).await,
        Erased::Now { discarded: 1 }
    );
    assert_eq!(
        bench.delivery(dead, "billing").await.state,
        DeliveryState::Discarded
    );
    for mode in [ReplayMode::Failed, ReplayMode::All, ReplayMode::Force] {
        for id in [done, dead] {
            assert_eq!(bench.replay(id, mode).await, Replayed::NotFound, "{mode:?}");
        }
    }
    assert!(bench.lease("billing").await.is_none());
}

/// The erased event's lane continues, whether the delivery was waiting, running, or dead and holding it.
pub async fn a_lane_goes_on_without_an_erased_event(bench: &mut Bench) {
    let mut ids = Vec::new();
    for event_id in ["first", "second", "third", "fourth"] {
        let draft = bench.event(event_id).in_lane("billing", "k", OnDead::Hold);
        ids.push(bench.stored(draft).await);
        bench.tick().await;
    }
    let discarded = Erased::Now { discarded: 1 };
    let first = bench.lease("billing").await.must();
    assert_eq!(
        erase(bench, ids[1], Unfinished::Discard).await,
        discarded,
        "it waits"
    );
    assert_eq!(
        erase(bench, ids[0], Unfinished::Discard).await,
        discarded,
        "it runs"
    );
    assert_eq!(
        bench.finish(&first.hold(), AttemptOutcome::Completed).await,
        Written::LeaseLost
    );
    let third = bench.lease("billing").await.must();
    assert_eq!(third.event.id, ids[2]);
    bench.finished(&third, dead()).await;
    assert!(
        bench.lease("billing").await.is_none(),
        "a dead head holds its lane"
    );
    assert_eq!(
        erase(bench, ids[2], Unfinished::Keep).await,
        discarded,
        "it held the lane"
    );
    assert_eq!(bench.lease("billing").await.must().event.id, ids[3]);
}

/// Deliveries that waited in their lane when their events were erased are not the oldest any more.
pub async fn an_erased_delivery_is_not_the_oldest(bench: &mut Bench) {
    let mut erased = Vec::new();
    // Many, for stores that count in parts.
    for n in 0..64 {
        let draft = bench.event(&format!("erased_{n}"));
        erased.push(bench.stored(draft.in_lane("billing", "k", OnDead::Hold)).await);
    }
    for id in erased.into_iter().rev() {
        erase(bench, id, Unfinished::Discard).await;
    }
    bench.pass(Duration::from_millis(20)).await;
    let before = bench.now().await;
    let draft = bench.event("young").in_lane("billing", "k", OnDead::Hold);
    bench.stored(draft).await;
    let counts = bench.store.counts().await.must();
    let row = counts.backlog.iter().find(|row| row.count > 0).must();
    assert_eq!((row.state, row.count), (DeliveryState::Pending, 1));
    // A store may keep the time of acceptance to the millisecond, in the event's id.
    let oldest = row.oldest.must();
    assert!(before.minus(Duration::from_millis(1)) <= oldest, "{oldest}");
}

async fn erase(bench: &Bench, id: EventId, unfinished: Unfinished) -> Erased {
    let mut said = bench.store.erase(vec![id], unfinished).await.must();
    assert_eq!(said.len(), 1);
    said.pop().must()
}

async fn found(bench: &Bench) -> Vec<EventId> {
    let mut query = EventQuery {
        source: Some("shop".into()),
        body: vec![BodyTerm {
            pointer: "/email".to_owned(),
            value: "ada@example.com".to_owned(),
        }],
        ..EventQuery::default()
    };
    let read = bench.list(&query, ALL).await;
    query.by_index = Some(0);
    let indexed = bench.list(&query, ALL).await;
    assert_eq!(read, indexed);
    indexed.into_iter().map(|event| event.id).collect()
}

/// Stores another body under the id of an event. Returns its hash.
async fn conflict(bench: &Bench, first: EventId) -> BodyHash {
    let body = r#"{"email":"ada@example.org"}"#;
    let event = bench.record(first).await.event;
    let other_body = ConflictingBody {
        key: event.identity.key(),
        first,
        source: event.source,
        raw_hash: BodyHash::of(body.as_bytes()),
        received_at: START,
        headers: Headers::default(),
        body: Bytes::from_static(body.as_bytes()),
    };
    bench.record_conflicts(vec![other_body]).await;
    BodyHash::of(body.as_bytes())
}
