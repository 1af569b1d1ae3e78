//! Hastening: a duplicate of an event that failed makes its next attempt due, and nothing else.

use std::time::Duration;

use hapax_core::{AttemptOutcome, DeliveryState, EventId};

use crate::Bench;
use crate::bench::{LONG, Must, again};

/// Long enough that only hastening makes it due.
const LATER: AttemptOutcome = AttemptOutcome::Retry {
    after: Duration::from_secs(3_600),
};

/// A waiting retry is due at once, with its attempts still counted.
pub async fn a_hastened_retry_is_due_now(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.run("billing", LATER).await;
    assert!(bench.lease("billing").await.is_none(), "it is not due yet");
    assert_eq!(hasten(bench, id).await, 1);
    let leased = bench.lease("billing").await.must();
    assert_eq!((leased.event.id, leased.attempt), (id, 2));
    bench.finished(&leased, AttemptOutcome::Completed).await;
}

/// A delivery that is already due keeps its position.
pub async fn hastening_never_delays(bench: &mut Bench) {
    let first = bench.stored(bench.event("evt_1").to("billing")).await;
    let second = bench.stored(bench.event("evt_2").to("billing")).await;
    for leased in bench.lease_many("billing", 2).await {
        bench.finished(&leased, again()).await;
    }
    let before = bench.delivery(first, "billing").await.due_at;
    assert_eq!(hasten(bench, first).await, 1);
    assert_eq!(bench.delivery(first, "billing").await.due_at, before);
    assert_eq!(
        bench.delivery(second, "billing").await.state,
        DeliveryState::Retrying
    );
}

/// Only that event's retries: not another event, and not running, finished or lane-waiting deliveries.
pub async fn only_the_retries_of_that_event_are_hastened(bench: &mut Bench) {
    let other = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.run("billing", LATER).await;
    let id = bench
        .stored(bench.event("evt_2").to("billing").to("audit").to("mail"))
        .await;
    bench.run("audit", AttemptOutcome::Completed).await;
    let running = bench
        .lease_as("mail", 1, LONG, hapax_core::store::Candidates::Fresh)
        .await;
    assert_eq!(running.len(), 1);
    assert_eq!(hasten(bench, id).await, 0, "nothing of it has failed");
    assert_eq!(bench.delivery(id, "mail").await.state, DeliveryState::Running);
    assert!(bench.delivery(other, "billing").await.due_at.must() > bench.now().await);
    bench.finished(&running[0], LATER).await;
    assert_eq!(hasten(bench, id).await, 1);
    assert!(bench.delivery(other, "billing").await.due_at.must() > bench.now().await);
}

/// An unknown event.
pub async fn hastening_what_is_not_there_does_nothing(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    assert_eq!(hasten(bench, id).await, 0);
    assert_eq!(hasten(bench, EventId::from_bytes([7; 16])).await, 0);
}

async fn hasten(bench: &Bench, id: EventId) -> u32 {
    bench.store.hasten(id).await.must()
}
