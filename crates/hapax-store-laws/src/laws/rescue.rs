//! Rescue: a lease that expires without a report is lost, and three losses are enough.

use hapax_core::store::{Candidates, DeliveryView, LOST_MAX, ReplayMode, Rescued, Written};
use hapax_core::{AttemptOutcome, DeliveryState, ErrorClass, EventId};

use crate::Bench;
use crate::bench::{LONG, Must, again};

/// The effect of an expired lease.
pub async fn an_expired_lease_is_a_loss_and_not_an_attempt(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.run("billing", again()).await;
    bench.lease_briefly("billing").await;
    bench.expire().await;
    let rescued = bench.rescue().await;
    let expected = Rescued {
        event: id,
        destination: "billing".into(),
        attempt: 2,
        lost: 1,
    };
    assert_eq!(rescued, [expected]);
    let view = bench.delivery(id, "billing").await;
    assert!(view.state.is_unfinished() && view.state != DeliveryState::Running);
    assert_eq!((view.attempts, view.lost), (1, 1));
    assert!(view.due_at.must() <= bench.now().await, "it is due now");
    let leased = bench.lease_briefly("billing").await;
    assert_eq!((leased.attempt, leased.lost), (2, 1));
    assert_eq!(
        bench.record(id).await.attempts.len(),
        1,
        "a loss is not shown as an attempt"
    );
}

/// Nothing is taken from a holder whose lease has not expired.
pub async fn a_live_lease_is_not_taken_back(bench: &mut Bench) {
    bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = bench.lease("billing").await.must();
    bench.expire().await;
    assert_eq!(bench.rescue().await, []);
    bench.finished(&leased, AttemptOutcome::Completed).await;
}

/// Extending sets the end to the new duration from now, even if that is earlier.
pub async fn an_extended_lease_ends_when_it_was_extended_to(bench: &mut Bench) {
    bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = bench.lease_briefly("billing").await;
    assert_eq!(bench.extend(&leased.hold(), LONG).await, Written::Applied);
    bench.expire().await;
    assert_eq!(bench.rescue().await, [], "it was extended");
    assert_eq!(
        bench.extend(&leased.hold(), bench.short()).await,
        Written::Applied
    );
    bench.expire().await;
    assert_eq!(bench.rescue().await.len(), 1, "the last extension counts");
}

/// A payload that kills its worker every time becomes a dead letter.
pub async fn a_delivery_lost_three_times_is_dead(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let view = lose_for_good(bench, id).await;
    assert_eq!(view.state, DeliveryState::Dead);
    assert_eq!(view.error, Some(ErrorClass::Lost));
    assert_eq!((view.attempts, view.lost), (0, LOST_MAX));
    assert!(view.finished_at.is_some());
    for candidates in [Candidates::Fresh, Candidates::Suspect] {
        assert!(bench.lease_as("billing", 10, LONG, candidates).await.is_empty());
    }
}

/// A replay of a lost delivery starts over, with all its chances.
pub async fn a_lost_delivery_can_be_replayed_with_all_its_chances(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    lose_for_good(bench, id).await;
    bench.replay(id, ReplayMode::Failed).await;
    let view = bench.delivery(id, "billing").await;
    assert_eq!(
        (view.state, view.attempts, view.lost),
        (DeliveryState::Pending, 0, 0)
    );
    assert_eq!(lose_for_good(bench, id).await.state, DeliveryState::Dead);
}

/// A delivery leased at accept can be lost as well.
pub async fn a_handed_over_delivery_is_rescued_like_any_other(bench: &mut Bench) {
    let id = bench
        .stored(bench.event("evt_1").handed_to("billing", bench.short()))
        .await;
    bench.expire().await;
    assert_eq!(bench.rescue().await.len(), 1);
    let leased = bench.lease_briefly("billing").await;
    assert_eq!((leased.event.id, leased.attempt, leased.lost), (id, 1, 1));
}

/// Never more than requested; each expired lease once.
pub async fn the_limit_of_a_rescue_is_kept(bench: &mut Bench) {
    for n in 0..5 {
        bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await;
    }
    bench
        .lease_as("billing", 10, bench.short(), Candidates::Fresh)
        .await;
    bench.expire().await;
    let first = bench.store.rescue(3).await.must();
    let second = bench.store.rescue(3).await.must();
    assert_eq!((first.len(), second.len()), (3, 2));
    assert!(
        first
            .iter()
            .all(|rescued| second.iter().all(|other| other.event != rescued.event))
    );
    assert_eq!(bench.rescue().await, []);
}

/// Two concurrent rescues count one loss.
pub async fn concurrent_rescues_count_each_loss_once(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.lease_briefly("billing").await;
    bench.expire().await;
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let store = std::sync::Arc::clone(&bench.store);
        tasks.push(tokio::spawn(async move { store.rescue(10).await.must().len() }));
    }
    let mut rescued = 0;
    for task in tasks {
        rescued += task.await.must();
    }
    assert_eq!(rescued, 1);
    assert_eq!(bench.delivery(id, "billing").await.lost, 1);
}

async fn lose_for_good(bench: &Bench, id: EventId) -> DeliveryView {
    for lost in 1..=LOST_MAX {
        let leased = bench.lease_briefly("billing").await;
        assert_eq!(leased.event.id, id);
        bench.expire().await;
        let rescued = bench.rescue().await;
        assert_eq!(rescued.len(), 1);
        assert_eq!(rescued[0].lost, lost);
    }
    bench.delivery(id, "billing").await
}
