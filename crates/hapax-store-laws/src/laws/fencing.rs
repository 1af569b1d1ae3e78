//! Fencing: a write about a delivery counts only under the token of the lease that runs it.

use std::sync::Arc;

use hapax_core::store::{ReplayMode, Report, Written};
use hapax_core::{AttemptOutcome, DeliveryState, Hold, Token};

use crate::Bench;
use crate::bench::{LONG, Must, again, dead};

/// A token that was never issued writes nothing.
pub async fn a_wrong_token_writes_nothing(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = bench.lease("billing").await.must();
    for token in [Token(0), Token(leased.token.0 + 1), Token(u64::MAX >> 1)] {
        let forged = Hold {
            token,
            ..leased.hold()
        };
        is_refused(bench, &forged).await;
    }
    assert_eq!(bench.delivery(id, "billing").await.state, DeliveryState::Running);
    bench.finished(&leased, AttemptOutcome::Completed).await;
}

/// The token of one delivery is worthless for another.
pub async fn a_token_of_another_delivery_writes_nothing(bench: &mut Bench) {
    let id = bench
        .stored(bench.event("evt_1").to("billing").to("ledger"))
        .await;
    let other = bench.stored(bench.event("evt_2").to("billing")).await;
    let leased = bench.lease_many("billing", 10).await;
    let ledger = bench.lease("ledger").await.must();
    let first = leased.iter().find(|leased| leased.event.id == id).must();
    let swapped = Hold {
        event: other,
        ..first.hold()
    };
    is_refused(bench, &swapped).await;
    let elsewhere = Hold {
        destination: "ledger".into(),
        ..first.hold()
    };
    is_refused(bench, &elsewhere).await;
    let unknown = Hold {
        event: bench.id(),
        ..first.hold()
    };
    is_refused(bench, &unknown).await;
    bench.finished(&ledger, AttemptOutcome::Completed).await;
}

/// A holder whose lease was taken back can no longer write; its successor can.
pub async fn late_finish_after_lease_expiry_is_refused(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let late = bench.lease_briefly("billing").await;
    bench.expire().await;
    assert_eq!(bench.rescue().await.len(), 1);
    is_refused(bench, &late.hold()).await;
    let successor = bench.lease_briefly("billing").await;
    is_refused(bench, &late.hold()).await;
    let view = bench.delivery(id, "billing").await;
    assert_eq!(view.state, DeliveryState::Running, "the successor still runs");
    bench.finished(&successor, AttemptOutcome::Completed).await;
    is_refused(bench, &late.hold()).await;
    assert_eq!(
        bench.delivery(id, "billing").await.state,
        DeliveryState::Completed
    );
}

/// Nobody took it over, so nothing can be duplicated: the result counts.
pub async fn an_expired_lease_that_nobody_took_back_still_counts(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = bench.lease_briefly("billing").await;
    bench.expire().await;
    assert_eq!(
        bench.extend(&leased.hold(), bench.short()).await,
        Written::Applied
    );
    assert_eq!(bench.rescue().await, [], "the extension counts from now");
    bench.expire().await;
    bench.finished(&leased, AttemptOutcome::Completed).await;
    assert_eq!(bench.rescue().await, []);
    assert_eq!(
        bench.delivery(id, "billing").await.state,
        DeliveryState::Completed
    );
}

/// One lease, one report, whatever it says.
pub async fn a_second_finish_is_refused(bench: &mut Bench) {
    for (n, outcome) in [
        AttemptOutcome::Completed,
        again(),
        dead(),
        AttemptOutcome::Release,
    ]
    .into_iter()
    .enumerate()
    {
        let destination = format!("destination_{n}");
        let id = bench.stored(bench.event(&destination).to(&destination)).await;
        let leased = bench.lease(&destination).await.must();
        bench.finished(&leased, outcome).await;
        let before = bench.delivery(id, &destination).await;
        is_refused(bench, &leased.hold()).await;
        assert_eq!(bench.delivery(id, &destination).await, before, "nothing changed");
    }
}

/// Two reports of one lease in one call: one counts.
pub async fn of_two_reports_in_one_call_one_counts(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let hold = bench.lease("billing").await.must().hold();
    let report = |outcome| Report {
        hold: hold.clone(),
        attempt: None,
        outcome,
    };
    let mut written = bench
        .store
        .finish(vec![
            report(AttemptOutcome::Completed),
            report(AttemptOutcome::Completed),
        ])
        .await
        .must();
    written.sort_by_key(|written| *written == Written::LeaseLost);
    assert_eq!(written, [Written::Applied, Written::LeaseLost]);
    assert_eq!(
        bench.delivery(id, "billing").await.state,
        DeliveryState::Completed
    );
}

/// Many finish the same lease at once; one report is written.
pub async fn of_many_concurrent_finishes_one_is_applied(bench: &mut Bench) {
    bench.stored(bench.event("evt_1").to("billing")).await;
    let hold = bench.lease("billing").await.must().hold();
    let mut tasks = Vec::new();
    for _ in 0..12 {
        let store = Arc::clone(&bench.store);
        let hold = hold.clone();
        tasks.push(tokio::spawn(async move {
            let report = Report {
                hold,
                attempt: None,
                outcome: AttemptOutcome::Completed,
            };
            store.finish(vec![report]).await.must().remove(0)
        }));
    }
    let mut applied = 0;
    for task in tasks {
        applied += usize::from(task.await.must() == Written::Applied);
    }
    assert_eq!(applied, 1);
}

/// A zombie from before a replay cannot write into the replayed delivery.
pub async fn a_holder_from_before_a_replay_is_refused(bench: &mut Bench) {
    for mode in [ReplayMode::Failed, ReplayMode::All, ReplayMode::Force] {
        let id = bench
            .stored(bench.event(&format!("{mode:?}")).to("billing"))
            .await;
        let zombie = bench.lease("billing").await.must();
        bench.finished(&zombie, dead()).await;
        bench.replay(id, mode).await;
        is_refused(bench, &zombie.hold()).await;
        let leased = bench.lease("billing").await.must();
        is_refused(bench, &zombie.hold()).await;
        bench.finished(&leased, AttemptOutcome::Completed).await;
    }
}

/// In one call, each hold is evaluated independently, and answered in order.
pub async fn each_hold_in_a_call_is_checked_alone(bench: &mut Bench) {
    for n in 0..3 {
        bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await;
    }
    let leased = bench.lease_many("billing", 3).await;
    bench.finished(&leased[1], AttemptOutcome::Completed).await;
    let expected = [Written::Applied, Written::LeaseLost, Written::Applied];
    let holds = leased.iter().map(hapax_core::Leased::hold).collect();
    assert_eq!(bench.store.extend(holds, LONG).await.must(), expected);
    let reports = leased
        .iter()
        .map(|leased| Report {
            hold: leased.hold(),
            attempt: None,
            outcome: AttemptOutcome::Completed,
        })
        .collect();
    assert_eq!(bench.store.finish(reports).await.must(), expected);
}

/// Empty calls get empty answers.
pub async fn empty_calls_do_nothing(bench: &mut Bench) {
    assert!(bench.store.accept(Vec::new()).await.is_empty());
    assert!(bench.store.finish(Vec::new()).await.must().is_empty());
    assert!(bench.store.extend(Vec::new(), LONG).await.must().is_empty());
    assert!(bench.store.replay(Vec::new()).await.must().is_empty());
    assert!(bench.record_conflicts(Vec::new()).await.is_empty());
    assert!(bench.rescue().await.is_empty());
}

async fn is_refused(bench: &Bench, hold: &Hold) {
    assert_eq!(bench.extend(hold, LONG).await, Written::LeaseLost);
    for outcome in [
        AttemptOutcome::Completed,
        again(),
        dead(),
        AttemptOutcome::Release,
    ] {
        assert_eq!(
            bench.finish(hold, outcome).await,
            Written::LeaseLost,
            "{outcome:?}"
        );
    }
}
