//! What a replay reaches: destinations, lanes, history and jobs.

use hapax_core::store::{DeadQuery, Disposal, ReplayJobId, ReplayMode, ReplayOrder, ReplayTarget, Replayed};
use hapax_core::{AttemptOutcome, DeliveryState, EventId, EventStatus, Generation, Identity, Lane, OnDead};

use super::replay::{once, to_all};
use crate::Bench;
use crate::bench::{Must, dead};

/// A destination that the event never went to is reached by naming it.
pub async fn a_replay_reaches_a_destination_that_came_later(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    let order = to_one(id, ReplayMode::Failed, "archive", None);
    assert_eq!(bench.replay_order(order.clone()).await, once(1, 0));
    assert!(bench.lease("billing").await.is_none(), "only the one named");
    let leased = bench.lease("archive").await.must();
    let key = Identity::new("shop", "evt_1").idempotency_key(Generation(0), &"archive".into());
    assert_eq!(
        (leased.event.id, leased.attempt, leased.idempotency_key),
        (id, 1, key)
    );
    assert_eq!(bench.replay_order(order).await, Replayed::Unfinished);
    bench.finished(&leased, AttemptOutcome::Completed).await;
    assert_eq!(bench.record(id).await.deliveries.len(), 2);
}

/// An ignored event becomes one with deliveries.
pub async fn an_ignored_event_can_be_sent_somewhere(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1")).await;
    let order = to_one(id, ReplayMode::All, "archive", None);
    assert_eq!(bench.replay_order(order).await, once(1, 0));
    assert_eq!(bench.record(id).await.status, EventStatus::Pending);
    assert_eq!(bench.run("archive", AttemptOutcome::Completed).await, id);
}

/// Naming a destination leaves the others alone.
pub async fn a_replay_to_one_destination_leaves_the_others_alone(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("a").to("b")).await;
    bench.run("a", dead()).await;
    bench.run("b", dead()).await;
    let order = to_one(id, ReplayMode::Failed, "a", None);
    assert_eq!(bench.replay_order(order).await, once(1, 0));
    assert_eq!(bench.delivery(id, "b").await.state, DeliveryState::Dead);
    assert_eq!(bench.run("a", AttemptOutcome::Completed).await, id);
    let order = to_one(id, ReplayMode::Failed, "a", None);
    assert_eq!(bench.replay_order(order).await, Replayed::Nothing, "it completed");
}

/// A lane given with the destination is joined.
pub async fn a_replay_to_a_lane_joins_it(bench: &mut Bench) {
    let old = bench.completed("old", "billing").await;
    let head = bench
        .stored(bench.event("head").in_lane("orders", "customer", OnDead::Hold))
        .await;
    let running = bench.lease("orders").await.must();
    let lane = Lane {
        key: "customer".to_owned(),
        on_dead: OnDead::Hold,
    };
    bench
        .replay_order(to_one(old, ReplayMode::All, "orders", Some(lane.clone())))
        .await;
    assert!(bench.lease("orders").await.is_none(), "it waits");
    assert_eq!(running.event.id, head);
    bench.finished(&running, AttemptOutcome::Completed).await;
    let leased = bench.lease("orders").await.must();
    assert_eq!((leased.event.id, leased.lane), (old, Some(lane)));
}

/// Unknown events are reported as unknown, and each order is evaluated independently and in order.
pub async fn each_replay_order_is_decided_alone(bench: &mut Bench) {
    let failed = bench.dead("evt_1", "billing").await;
    let completed = bench.completed("evt_2", "billing").await;
    let pending = bench.stored(bench.event("evt_3").to("billing")).await;
    let orders = [bench.id(), failed, completed, pending]
        .map(|id| to_all(id, ReplayMode::Failed))
        .to_vec();
    let replayed = bench.store.replay(orders).await.must();
    assert_eq!(
        replayed,
        [
            Replayed::NotFound,
            once(1, 0),
            Replayed::Nothing,
            Replayed::Unfinished
        ]
    );
}

/// Earlier attempts stay; the earlier dead letter no longer counts as one.
pub async fn history_stays_and_is_no_dead_letter(bench: &mut Bench) {
    for mode in [ReplayMode::Failed, ReplayMode::Force] {
        let id = bench.dead(&format!("{mode:?}"), "billing").await;
        bench.replay(id, mode).await;
        assert_eq!(dead_letters(bench).await, [], "while it is unfinished");
        let nothing = bench
            .store
            .dispose(vec![(id, "billing".into())], Disposal::Discard)
            .await;
        assert_eq!(nothing.must(), 0);
        bench.run("billing", AttemptOutcome::Completed).await;
        assert_eq!(dead_letters(bench).await, [], "and after it completed");
        let record = bench.record(id).await;
        assert_eq!(record.status, EventStatus::Completed);
        assert_eq!(record.attempts.len(), 2, "every attempt is kept");
        assert!(record.attempts[0].token < record.attempts[1].token);
        assert_eq!(record.attempts[0].generation, Generation(0));
        let expected = Generation(u32::from(mode == ReplayMode::Force));
        assert_eq!(record.attempts[1].generation, expected);
    }
}

/// A replayed delivery can die and be replayed again.
pub async fn a_replayed_delivery_can_die_again(bench: &mut Bench) {
    let id = bench.dead("evt_1", "billing").await;
    for _ in 0..3 {
        bench.replay(id, ReplayMode::Failed).await;
        bench.run("billing", dead()).await;
        assert_eq!(dead_letters(bench).await, [id]);
    }
    assert_eq!(bench.record(id).await.attempts.len(), 4);
}

/// The job that asked is shown with the delivery.
pub async fn a_replayed_delivery_names_its_job(bench: &mut Bench) {
    let id = bench.dead("evt_1", "billing").await;
    assert_eq!(bench.delivery(id, "billing").await.replay, None);
    let job = ReplayJobId(bench.id());
    let order = ReplayOrder {
        job: Some(job),
        ..to_all(id, ReplayMode::Failed)
    };
    bench.replay_order(order).await;
    assert_eq!(bench.delivery(id, "billing").await.replay, Some(job));
    bench.run("billing", AttemptOutcome::Completed).await;
    assert_eq!(bench.delivery(id, "billing").await.replay, Some(job));
}

/// An interrupted job repeats its last portion: deliveries that it has already replayed stay as they are.
pub async fn a_job_puts_a_delivery_back_once(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    let (first, second) = (ReplayJobId(bench.id()), ReplayJobId(bench.id()));
    let order = |job| ReplayOrder {
        job: Some(job),
        ..to_all(id, ReplayMode::Force)
    };
    for (job, generation) in [(first, 1), (second, 2)] {
        let replayed = Replayed::Again {
            deliveries: 1,
            generation: Generation(generation),
        };
        assert_eq!(bench.replay_order(order(job)).await, replayed);
        bench.run("billing", AttemptOutcome::Completed).await;
        assert_eq!(bench.replay_order(order(job)).await, Replayed::Nothing);
        assert!(bench.lease("billing").await.is_none());
    }
}

/// Even if something else replayed it in the meantime.
pub async fn a_job_puts_a_delivery_back_once_whoever_else_does(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    let (first, second) = (ReplayJobId(bench.id()), ReplayJobId(bench.id()));
    let jobs = [Some(first), Some(second), None];
    let order = |job| ReplayOrder {
        job,
        ..to_all(id, ReplayMode::Force)
    };
    for job in jobs {
        assert!(matches!(
            bench.replay_order(order(job)).await,
            Replayed::Again { .. }
        ));
        bench.run("billing", AttemptOutcome::Completed).await;
    }
    for job in [first, second] {
        assert_eq!(bench.replay_order(order(Some(job))).await, Replayed::Nothing);
    }
}

async fn dead_letters(bench: &Bench) -> Vec<EventId> {
    let query = DeadQuery {
        state: DeliveryState::Dead,
        destination: None,
    };
    let (views, _) = bench.store.deliveries(&query, None, 100).await.must();
    views.into_iter().map(|view| view.event).collect()
}

fn to_one(event: EventId, mode: ReplayMode, destination: &str, lane: Option<Lane>) -> ReplayOrder {
    ReplayOrder {
        to: Some(ReplayTarget {
            destination: destination.into(),
            lane,
        }),
        ..to_all(event, mode)
    }
}
