//! Finishing: the effect of each outcome on a delivery, and what is kept of the attempt.

use std::time::Duration;

use hapax_core::store::{AttemptView, Report, Written};
use hapax_core::{
    Attempt, AttemptOutcome, DeliveryState, ErrorClass, EventId, EventStatus, OnDead, Timestamp, Token,
};

use crate::Bench;
use crate::bench::{LONG, Must, again, dead};
use crate::clock::START;

/// Completed: no unfinished delivery is left, but an outcome is.
pub async fn a_completed_delivery_leaves_work_and_becomes_an_outcome(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = bench.lease("billing").await.must();
    bench.tick().await;
    let before = bench.now().await;
    bench.finished(&leased, AttemptOutcome::Completed).await;
    let after = bench.now().await;
    let view = bench.delivery(id, "billing").await;
    assert_eq!(
        (view.state, view.attempts, view.error),
        (DeliveryState::Completed, 1, None)
    );
    assert_eq!(view.due_at, None);
    let finished_at = view.finished_at.must();
    assert!(before <= finished_at && finished_at <= after);
    assert!(bench.lease("billing").await.is_none());
    assert!(
        bench
            .store
            .counts()
            .await
            .must()
            .backlog
            .iter()
            .all(|row| row.count == 0)
    );
}

/// Dead: no unfinished delivery is left, but a dead letter with its reason is.
pub async fn a_dead_delivery_leaves_work_and_keeps_its_reason(bench: &mut Bench) {
    for reason in ErrorClass::ALL {
        let id = bench.stored(bench.event(reason.as_str()).to("billing")).await;
        bench.run("billing", AttemptOutcome::Dead { reason }).await;
        let view = bench.delivery(id, "billing").await;
        assert_eq!((view.state, view.error), (DeliveryState::Dead, Some(reason)));
        assert!(view.finished_at.is_some());
        assert!(bench.lease("billing").await.is_none());
    }
}

/// Failed: it waits at least the requested delay, then keeps counting.
pub async fn a_retry_waits_and_counts_on(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = bench.lease("billing").await.must();
    let before = bench.now().await;
    let wait = bench.short();
    bench
        .finished(&leased, AttemptOutcome::Retry { after: wait })
        .await;
    let after = bench.now().await;
    let view = bench.delivery(id, "billing").await;
    assert_eq!((view.state, view.attempts), (DeliveryState::Retrying, 1));
    assert_eq!(view.finished_at, None);
    let due_at = view.due_at.must();
    assert!(before.plus(wait) <= due_at && due_at <= after.plus(wait));
    assert!(bench.lease("billing").await.is_none(), "not before its time");
    bench.expire().await;
    let again = bench.lease("billing").await.must();
    assert_eq!(again.attempt, 2);
    assert_eq!(
        again.idempotency_key, leased.idempotency_key,
        "every attempt carries one key"
    );
    assert_eq!(again.event, leased.event);
}

/// A released delivery comes before those accepted later: it has waited longer.
pub async fn what_is_released_comes_before_what_was_accepted_later(bench: &mut Bench) {
    let mut ids = Vec::new();
    for number in 0..3 {
        let event = bench.event(&format!("evt_{number}")).to("billing");
        ids.push(bench.stored(event).await);
        bench.tick().await;
    }
    for leased in bench.lease_many("billing", 2).await.iter().rev() {
        bench.finished(leased, AttemptOutcome::Release).await;
    }
    for id in ids {
        assert_eq!(bench.run("billing", AttemptOutcome::Completed).await, id);
    }
}

/// Released: as if it had never been leased, and due at once.
pub async fn a_released_delivery_is_due_and_its_attempt_does_not_count(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = bench.lease("billing").await.must();
    bench.finished(&leased, AttemptOutcome::Release).await;
    let view = bench.delivery(id, "billing").await;
    assert_eq!(
        (view.state, view.attempts, view.lost),
        (DeliveryState::Pending, 0, 0)
    );
    let next = bench.lease("billing").await.must();
    assert_eq!((next.attempt, next.lost), (1, 0), "neither an attempt nor a loss");
    bench.finished(&next, again()).await;
    let second = bench.lease("billing").await.must();
    bench.finished(&second, AttemptOutcome::Release).await;
    assert_eq!(
        bench.lease("billing").await.must().attempt,
        2,
        "earlier attempts stay counted"
    );
}

/// A delivery that was leased at accept and released was never attempted.
pub async fn a_handed_over_delivery_can_be_released(bench: &mut Bench) {
    let draft = bench.event("evt_1").handed_to("billing", LONG);
    let id = draft.clone().build().id;
    let hapax_core::store::Claim::New { tokens, .. } = bench.accept(draft).await else {
        panic!("the event is new");
    };
    let hold = hapax_core::Hold {
        event: id,
        destination: "billing".into(),
        token: tokens[0].must().token,
    };
    bench.finish(&hold, AttemptOutcome::Release).await;
    let leased = bench.lease("billing").await.must();
    assert_eq!((leased.event.id, leased.attempt), (id, 1));
}

/// Attempts are kept, oldest first, with all their details.
pub async fn attempts_are_kept_oldest_first(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let mut expected = Vec::new();
    for n in 0..4_u32 {
        let leased = bench.lease("billing").await.must();
        let attempt = Attempt {
            started_at: Timestamp::from_micros(START.as_micros() + i64::from(n)),
            duration_ms: u32::MAX - n,
            status: [None, Some(500), Some(-1), Some(i32::MAX)][n as usize],
            excerpt: format!("odd \u{0}… {n} \u{1F600}"),
            error: [Some(ErrorClass::Connect), Some(ErrorClass::Status), None, None][n as usize],
            message: (n == 0).then(|| "no route".to_owned()),
        };
        expected.push(AttemptView {
            destination: "billing".into(),
            generation: leased.generation,
            token: leased.token,
            attempt: attempt.clone(),
        });
        let report = Report {
            hold: leased.hold(),
            attempt: Some(attempt),
            outcome: if n < 3 { again() } else { AttemptOutcome::Completed },
        };
        bench.store.finish(vec![report]).await.must();
        bench.tick().await;
    }
    assert_eq!(bench.record(id).await.attempts, expected);
}

/// A delivery released without a try leaves no attempt.
pub async fn a_release_leaves_no_attempt(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.run("billing", AttemptOutcome::Release).await;
    assert_eq!(bench.record(id).await.attempts, []);
}

/// A refused report leaves no attempt either.
pub async fn a_refused_report_leaves_no_attempt(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let leased = bench.lease("billing").await.must();
    bench.finished(&leased, dead()).await;
    bench.finish(&leased.hold(), AttemptOutcome::Completed).await;
    assert_eq!(bench.record(id).await.attempts.len(), 1);
}

/// A call full of completions: in a lane or not, with an attempt or without, one of them under a token that is not the
/// delivery's.
pub async fn completions_in_one_call_are_each_written_for_themselves(bench: &mut Bench) {
    let mut ids = Vec::new();
    for number in 0..6 {
        let event = bench.event(&format!("evt_{number}"));
        let event = if number % 3 == 0 {
            event.in_lane("billing", "customer", OnDead::Hold)
        } else {
            event.to("billing")
        };
        ids.push(bench.stored(event).await);
    }
    let leased = bench.lease_many("billing", 10).await;
    let report = |id: EventId| {
        let leased = leased.iter().find(|leased| leased.event.id == id).must();
        bench.report(&leased.hold(), AttemptOutcome::Completed)
    };
    // The second of the lane waits for the first.
    let mut reports: Vec<Report> = [0, 1, 2, 4, 5].map(|number| report(ids[number])).into();
    reports[1].attempt = None;
    let held = reports[3].hold.clone();
    reports[3].hold.token = Token(held.token.0 + 1_000_000_000_000);
    let expected: Vec<_> = reports.iter().map(|report| report.attempt.clone()).collect();
    let written = bench.store.finish(reports.clone()).await.must();
    let mut applied = vec![Written::Applied; 5];
    applied[3] = Written::LeaseLost;
    assert_eq!(written, applied);
    let written = bench.store.finish(reports).await.must();
    assert_eq!(written, [Written::LeaseLost; 5], "none of them ends twice");

    for (number, attempt) in [0, 1, 2, 5].into_iter().zip([0, 1, 2, 4]) {
        let record = bench.record(ids[number]).await;
        assert_eq!(record.status, EventStatus::Completed);
        let kept: Vec<_> = record.attempts.into_iter().map(|kept| kept.attempt).collect();
        assert_eq!(kept, Vec::from_iter(expected[attempt].clone()));
    }
    assert_eq!(bench.record(ids[4]).await.attempts, [], "it is not written");
    let last = bench.lease("billing").await.must();
    assert_eq!(last.event.id, ids[3], "the lane goes on");
    bench.finished(&last, AttemptOutcome::Completed).await;
    let written = bench.finish(&held, AttemptOutcome::Completed).await;
    assert_eq!(written, Written::Applied, "the lease is still held");
    assert!(bench.lease("billing").await.is_none());
}

/// Each destination's delivery ends independently.
pub async fn one_delivery_does_not_end_another(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("a").to("b").to("c")).await;
    bench.run("a", AttemptOutcome::Completed).await;
    bench.run("b", dead()).await;
    let states: Vec<_> = ["a", "b", "c"]
        .map(|to| bench.delivery(id, to))
        .into_iter()
        .collect();
    let mut found = Vec::new();
    for state in states {
        found.push(state.await.state);
    }
    assert_eq!(
        found,
        [
            DeliveryState::Completed,
            DeliveryState::Dead,
            DeliveryState::Pending
        ]
    );
}

/// A delay beyond the end of time is stored as a very long one.
pub async fn a_retry_after_ages_is_not_due_now(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let ages = Duration::from_secs(u64::from(u32::MAX) * 1000);
    bench.run("billing", AttemptOutcome::Retry { after: ages }).await;
    assert!(bench.lease("billing").await.is_none());
    assert_eq!(bench.delivery(id, "billing").await.state, DeliveryState::Retrying);
}
