//! Owners: when one falls silent, its leases are taken back before they end, and the leases of the others are not.

use hapax_core::store::{AliveReport, Candidates, LOST_MAX, LeaseOrder, Patience, Rescued, Written};
use hapax_core::{AttemptOutcome, DeliveryState, Leased, OnDead, Owner};

use crate::Bench;
use crate::bench::{ALL, LONG, Must, order};

/// The owner that falls silent. Leases at accept have the same owner.
const SILENT: Owner = Owner(7);
/// The owner that reports.
const RESCUER: Owner = Owner(8);

/// Silence and reachability count after a short time; no gap is too long.
fn short(bench: &Bench) -> Patience {
    Patience {
        gap: LONG,
        silence: bench.short(),
        reachable: bench.short(),
    }
}

async fn lease_for(bench: &Bench, owner: Owner, limit: u32) -> Vec<Leased> {
    let order = LeaseOrder {
        owner,
        ..order("billing", limit, LONG, Candidates::Fresh)
    };
    bench.store.lease(order).await.must().leased
}

async fn some_events(bench: &Bench, count: usize) {
    for n in 0..count {
        bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await;
    }
}

/// Both owners report, and one of them falls silent for a short time.
async fn fall_silent(bench: &Bench) {
    for owner in [SILENT, RESCUER] {
        assert_eq!(bench.report_alive(owner, short(bench), ALL).await, []);
    }
    bench.expire().await;
}

/// Long before the lease ends: a loss like that of an expired lease.
pub async fn what_a_dead_owner_holds_is_taken_back_before_its_leases_end(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = lease_for(bench, SILENT, 1).await.remove(0);
    fall_silent(bench).await;
    let rescued = bench.report_alive(RESCUER, short(bench), ALL).await;
    let expected = Rescued {
        event: id,
        destination: "billing".into(),
        attempt: 1,
        lost: 1,
    };
    assert_eq!(rescued, [expected]);
    let view = bench.delivery(id, "billing").await;
    assert!(view.state.is_unfinished() && view.state != DeliveryState::Running);
    assert_eq!((view.attempts, view.lost), (0, 1));
    assert!(view.due_at.must() <= bench.now().await, "it is due now");
    assert_eq!(
        bench.finish(&leased.hold(), AttemptOutcome::Completed).await,
        Written::LeaseLost,
        "its token is void"
    );
    assert_eq!(bench.report_alive(RESCUER, short(bench), ALL).await, [], "once");
}

/// A delivery that was leased at accept has the same owner.
pub async fn what_was_handed_over_to_a_dead_owner_is_taken_back_too(bench: &mut Bench) {
    bench
        .stored(bench.event("evt_1").handed_to("billing", LONG))
        .await;
    fall_silent(bench).await;
    assert_eq!(bench.report_alive(RESCUER, short(bench), ALL).await.len(), 1);
}

/// Only silence of the full length counts.
pub async fn an_owner_that_was_silent_for_less_is_not_dead(bench: &mut Bench) {
    some_events(bench, 1).await;
    let leased = lease_for(bench, SILENT, 1).await.remove(0);
    fall_silent(bench).await;
    let patience = Patience {
        silence: LONG,
        ..short(bench)
    };
    assert_eq!(bench.report_alive(RESCUER, patience, ALL).await, []);
    bench.finished(&leased, AttemptOutcome::Completed).await;
}

/// Replicas of an earlier version do not report; their leases end as before.
pub async fn an_owner_that_never_reported_keeps_its_leases(bench: &mut Bench) {
    some_events(bench, 1).await;
    let leased = lease_for(bench, Owner(9), 1).await.remove(0);
    fall_silent(bench).await;
    assert_eq!(bench.report_alive(RESCUER, short(bench), ALL).await, []);
    bench.finished(&leased, AttemptOutcome::Completed).await;
}

/// An owner that has just started cannot distinguish a dead owner from one that could not reach the store.
pub async fn nobody_is_dead_before_the_store_was_reachable_for_long_enough(bench: &mut Bench) {
    some_events(bench, 1).await;
    let leased = lease_for(bench, SILENT, 1).await.remove(0);
    fall_silent(bench).await;
    assert_eq!(bench.report_alive(Owner(9), short(bench), ALL).await, []);
    bench.finished(&leased, AttemptOutcome::Completed).await;
}

/// Neither can an owner that could not report itself.
pub async fn a_gap_between_reports_puts_off_the_rescue(bench: &mut Bench) {
    some_events(bench, 1).await;
    let leased = lease_for(bench, SILENT, 1).await.remove(0);
    fall_silent(bench).await;
    let patience = Patience {
        gap: bench.short() / 2,
        ..short(bench)
    };
    assert_eq!(bench.report_alive(RESCUER, patience, ALL).await, []);
    bench.finished(&leased, AttemptOutcome::Completed).await;
}

/// It was only asleep: its old leases are gone, and its new leases are its own.
pub async fn an_owner_that_wakes_up_is_fenced_and_goes_on(bench: &mut Bench) {
    some_events(bench, 2).await;
    let lost = lease_for(bench, SILENT, 1).await.remove(0);
    fall_silent(bench).await;
    assert_eq!(bench.report_alive(RESCUER, short(bench), ALL).await.len(), 1);
    assert_eq!(bench.extend(&lost.hold(), LONG).await, Written::LeaseLost);
    let patience = Patience {
        silence: LONG,
        ..short(bench)
    };
    assert_eq!(bench.report_alive(SILENT, patience, ALL).await, []);
    let kept = lease_for(bench, SILENT, 1).await.remove(0);
    assert_eq!(bench.report_alive(RESCUER, patience, ALL).await, []);
    bench.finished(&kept, AttemptOutcome::Completed).await;
}

/// Each owner is evaluated separately.
pub async fn the_leases_of_the_living_stay_when_another_dies(bench: &mut Bench) {
    some_events(bench, 6).await;
    let dead = lease_for(bench, SILENT, 3).await;
    let living = lease_for(bench, RESCUER, 3).await;
    fall_silent(bench).await;
    let rescued = bench.report_alive(RESCUER, short(bench), ALL).await;
    let mut taken: Vec<_> = rescued.iter().map(|rescued| rescued.event).collect();
    let mut expected: Vec<_> = dead.iter().map(|leased| leased.event.id).collect();
    taken.sort_unstable();
    expected.sort_unstable();
    assert_eq!(taken, expected);
    for leased in &living {
        bench.finished(leased, AttemptOutcome::Completed).await;
    }
}

/// The limit applies to each shard; the next report takes the rest.
pub async fn no_more_than_asked_for_is_taken_from_a_dead_owner(bench: &mut Bench) {
    some_events(bench, 40).await;
    assert_eq!(lease_for(bench, SILENT, 40).await.len(), 40);
    fall_silent(bench).await;
    let first = bench.report_alive(RESCUER, short(bench), 1).await.len();
    assert!((1..=bench.store.shards()).contains(&first), "{first} at once");
    let mut taken = first;
    for _ in 0..40 {
        taken += bench.report_alive(RESCUER, short(bench), 1).await.len();
    }
    assert_eq!(taken, 40);
}

/// Several concurrent reports count one loss.
pub async fn concurrent_reports_count_each_loss_once(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    lease_for(bench, SILENT, 1).await;
    let rescuers: Vec<Owner> = (10..16).map(Owner).collect();
    for rescuer in &rescuers {
        bench.report_alive(*rescuer, short(bench), ALL).await;
    }
    fall_silent(bench).await;
    let reports = rescuers.into_iter().map(|owner| {
        let store = std::sync::Arc::clone(&bench.store);
        let report = AliveReport {
            owner,
            shard: store.shard_of(id),
            patience: short(bench),
            limit: ALL,
        };
        tokio::spawn(async move { store.report_alive(report).await.must().len() })
    });
    let mut rescued = 0;
    for report in reports.collect::<Vec<_>>() {
        rescued += report.await.must();
    }
    assert_eq!(rescued, 1);
    assert_eq!(bench.delivery(id, "billing").await.lost, 1);
}

/// Three owners died with the head: it is dead, and the next delivery in its lane is due.
pub async fn a_lane_goes_on_where_its_head_died_with_its_owner(bench: &mut Bench) {
    let first = bench
        .stored(bench.event("evt_1").in_lane("billing", "a", OnDead::Skip))
        .await;
    let second = bench
        .stored(bench.event("evt_2").in_lane("billing", "a", OnDead::Skip))
        .await;
    for lost in 1..=LOST_MAX {
        let candidates = [Candidates::Fresh, Candidates::Suspect];
        for candidates in candidates {
            let order = LeaseOrder {
                owner: SILENT,
                ..order("billing", 1, LONG, candidates)
            };
            bench.store.lease(order).await.must();
        }
        fall_silent(bench).await;
        let rescued = bench.report_alive(RESCUER, short(bench), ALL).await;
        assert_eq!(rescued.len(), 1);
        assert_eq!((rescued[0].event, rescued[0].lost), (first, lost));
    }
    assert_eq!(bench.delivery(first, "billing").await.state, DeliveryState::Dead);
    let next = lease_for(bench, RESCUER, 1).await.remove(0);
    assert_eq!(next.event.id, second);
}
