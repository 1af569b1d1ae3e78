//! Durability: acknowledged events survive a crash, and no crash strands a delivery.

use hapax_core::store::{Claim, EventQuery, LOST_MAX};
use hapax_core::{AttemptOutcome, DeliveryState, ErrorClass, EventId, EventStatus, OnDead};

use crate::Bench;
use crate::bench::{LONG, Must, again, dead};

/// Everything that was acknowledged, in every state, is there after a crash.
pub async fn what_was_answered_is_there_after_a_crash(bench: &mut Bench) {
    let mut ids: Vec<EventId> = Vec::new();
    for (name, outcome) in [
        ("completed", Some(AttemptOutcome::Completed)),
        ("dead", Some(dead())),
        ("retrying", Some(AttemptOutcome::Retry { after: LONG })),
        ("pending", None),
    ] {
        ids.push(bench.stored(bench.event(name).to(name)).await);
        if let Some(outcome) = outcome {
            bench.run(name, outcome).await;
        }
    }
    let mut before = Vec::new();
    for id in &ids {
        before.push(bench.record(*id).await);
    }
    let listed = bench.list(&EventQuery::default(), 10).await;
    bench.reopen().await;
    for (id, expected) in ids.iter().zip(before) {
        let found = bench.record(*id).await;
        assert_eq!(found.event, expected.event);
        assert_eq!(found.deliveries, expected.deliveries);
        assert_eq!(found.attempts, expected.attempts);
        assert_eq!(found.status, expected.status);
    }
    assert_eq!(bench.list(&EventQuery::default(), 10).await, listed);
    assert_eq!(bench.lease("pending").await.must().event.id, ids[3]);
}

/// A duplicate that arrives after the crash is a duplicate.
pub async fn the_ledger_dedupes_after_a_crash(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let before = bench.look_up("evt_1").await;
    bench.reopen().await;
    let Claim::Seen(entry) = bench.accept(bench.event("evt_1").to("billing")).await else {
        panic!("an event accepted before the crash is seen after it");
    };
    assert_eq!(entry.id, id);
    assert_eq!(Some(entry), before);
    assert_eq!(bench.lease_many("billing", 10).await.len(), 1);
}

/// A delivery that was running when the process died runs again once its lease is void or has expired, and the dead
/// process's token is worthless.
pub async fn work_that_ran_at_a_crash_runs_again(bench: &mut Bench) {
    let id = bench.stored(bench.event("leased").to("billing")).await;
    let zombie = bench.lease_briefly("billing").await;
    let handed = bench
        .stored(bench.event("handed").handed_to("ledger", bench.short()))
        .await;
    crash(bench).await;
    for (destination, expected) in [("billing", id), ("ledger", handed)] {
        let leased = bench.lease_briefly(destination).await;
        assert_eq!((leased.event.id, leased.attempt, leased.lost), (expected, 1, 1));
        if destination == "billing" {
            assert_eq!(
                bench.finish(&zombie.hold(), AttemptOutcome::Completed).await,
                hapax_core::store::Written::LeaseLost
            );
        }
        bench.finished(&leased, AttemptOutcome::Completed).await;
    }
}

/// A payload that kills the process every time is dead after the maximum number of losses.
pub async fn a_payload_that_kills_the_process_is_given_up(bench: &mut Bench) {
    let id = bench.stored(bench.event("killer").to("billing")).await;
    for _ in 0..LOST_MAX {
        bench.lease_briefly("billing").await;
        crash(bench).await;
    }
    let view = bench.delivery(id, "billing").await;
    assert_eq!(
        (view.state, view.error),
        (DeliveryState::Dead, Some(ErrorClass::Lost))
    );
    assert_eq!(bench.record(id).await.status, EventStatus::Dead);
}

/// A crash in the middle of a lane neither skips nor repeats a delivery.
pub async fn a_lane_goes_on_after_a_crash(bench: &mut Bench) {
    let mut ids = Vec::new();
    for n in 0..3 {
        let draft = bench
            .event(&format!("evt_{n}"))
            .in_lane("orders", "customer", OnDead::Hold);
        ids.push(bench.stored(draft).await);
    }
    bench.lease_briefly("orders").await;
    crash(bench).await;
    for id in ids {
        let leased = bench.lease_briefly("orders").await;
        assert_eq!(leased.event.id, id);
        bench.finished(&leased, AttemptOutcome::Completed).await;
    }
}

/// Attempts counted before a crash stay counted.
pub async fn attempts_stay_counted_over_a_crash(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.run("billing", again()).await;
    bench.run("billing", again()).await;
    bench.reopen().await;
    let leased = bench.lease("billing").await.must();
    assert_eq!((leased.event.id, leased.attempt), (id, 3));
}

/// Any number of restarts of an idle store change nothing.
pub async fn restarts_of_an_idle_store_change_nothing(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let before = bench.record(id).await.deliveries;
    for _ in 0..3 {
        bench.reopen().await;
    }
    assert_eq!(bench.record(id).await.deliveries, before);
}

/// A crash, then enough time for any lease that outlives it.
async fn crash(bench: &mut Bench) {
    bench.reopen().await;
    bench.expire().await;
    bench.rescue().await;
}
