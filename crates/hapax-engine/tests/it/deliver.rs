//! Delivering: retries, limits, leases.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hapax_core::delivery::FirstLease;
use hapax_core::store::{AcceptRequest, Report};
use hapax_core::{
    AttemptOutcome, BodyHash, DeliveryState, ErrorClass, EventIds, EventStatus, Headers, Identity,
    NewDelivery, NewEvent, Owner, SystemRandom,
};
use hapax_core::{Clock, Timestamp};
use hapax_engine::{AttemptResult, Pattern, Rate, Reply};
use hapax_store_laws::MemoryStore;

use crate::harness::{SECOND, World, destination, failed, refused, route};

#[tokio::test(start_paused = true)]
async fn a_failing_delivery_is_retried_under_the_same_key_until_it_succeeds() {
    let world = World::new(|_, call| {
        (
            SECOND,
            if call < 4 {
                failed()
            } else {
                AttemptResult::done(204)
            },
        )
    });
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    let seen = world.sink.seen();
    assert_eq!(
        seen.iter().map(|seen| seen.attempt).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert!(seen.iter().all(|attempt| attempt.key == seen[0].key));
    assert_eq!(world.record(id).await.attempts.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn after_its_last_attempt_a_delivery_is_dead() {
    let world = World::new(|_, _| (Duration::ZERO, failed()));
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Dead).await;
    assert_eq!(world.sink.seen().len(), 5);
    let delivery = &world.record(id).await.deliveries[0];
    assert_eq!(
        (delivery.state, delivery.error),
        (DeliveryState::Dead, Some(ErrorClass::Status))
    );
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_refuses_for_good_is_not_asked_again() {
    let world = World::new(|_, _| (Duration::ZERO, refused()));
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Dead).await;
    assert_eq!(world.sink.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured() {
    let world = World::new(|_, call| {
        let reply = Reply::Failed {
            class: ErrorClass::Status,
            message: "HTTP 503".to_owned(),
            retry_after: Some(1_000 * SECOND),
        };
        let busy = AttemptResult {
            reply,
            status: Some(503),
            excerpt: String::new(),
        };
        (
            Duration::ZERO,
            if call == 1 { busy } else { AttemptResult::done(200) },
        )
    });
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    let seen = world.sink.seen();
    let gap = seen[1].at.saturating_sub(seen[0].at);
    assert!(gap >= 1_000 * SECOND && gap < 1_002 * SECOND, "{gap:?}");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_ends_at_its_deadline() {
    let world = World::new(|_, call| {
        (
            if call == 1 { 1_000_000 * SECOND } else { SECOND },
            AttemptResult::done(200),
        )
    });
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    let attempts = world.record(id).await.attempts;
    assert_eq!(attempts[0].attempt.error, Some(ErrorClass::Timeout));
    assert_eq!(attempts.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_never_exceeded_and_all_of_it_is_used() {
    let world = World::new(|_, _| (SECOND, AttemptResult::done(200)));
    let engine = world.start().await;
    for number in 0..100 {
        world.send_twice(&engine, &format!("evt_{number}")).await;
    }
    world.until_count(EventStatus::Completed, 100).await;
    assert_eq!(world.sink.running_max.load(Ordering::SeqCst), 8);
    assert_eq!(world.sink.seen().len(), 100);
    assert!(world.clock.elapsed() < 20 * SECOND, "{:?}", world.clock.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_rate_limit_of_a_destination_holds() {
    let mut world = World::healthy();
    world.destination(|billing| {
        billing.rate = Some(Rate {
            count: 10,
            per: SECOND,
        });
    });
    let engine = world.start().await;
    for number in 0..50 {
        world.send_twice(&engine, &format!("evt_{number}")).await;
    }
    world.until_count(EventStatus::Completed, 50).await;
    let last = world.sink.seen().last().unwrap().at;
    assert!(last >= 3 * SECOND && last <= 6 * SECOND, "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn only_the_types_a_destination_wants_reach_it() {
    let mut world = World::healthy();
    world.destination(|billing| billing.events = vec![Pattern::new("invoice.*")]);
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    assert_eq!(world.record(id).await.status, EventStatus::Ignored);
}

#[tokio::test(start_paused = true)]
async fn one_failing_destination_does_not_hold_up_another() {
    let mut world = World::new(|delivery, _| match delivery.destination.as_str() {
        "billing" => (29 * SECOND, failed()),
        _ => (Duration::ZERO, AttemptResult::done(200)),
    });
    world
        .routing
        .destinations
        .insert("mail".into(), destination("mail"));
    world
        .routing
        .sources
        .insert("shop".into(), route("shop", &["billing", "mail"]));
    let engine = world.start().await;
    for number in 0..200 {
        world.send_twice(&engine, &format!("evt_{number}")).await;
    }
    tokio::time::sleep(10 * SECOND).await;
    let counts = world.store.counts().await.unwrap();
    let waiting = |name: &str| {
        counts
            .backlog
            .iter()
            .filter(|row| row.destination.as_str() == name)
            .count()
    };
    assert_eq!(waiting("mail"), 0, "{:?}", counts.backlog);
    assert!(waiting("billing") > 0);
}

#[tokio::test(start_paused = true)]
async fn a_failing_destination_is_left_alone_for_a_while() {
    let mut world = World::new(|_, _| (Duration::ZERO, failed()));
    world.destination(|billing| {
        billing.attempts_max = 1_000;
        billing.backoff = hapax_core::Backoff {
            first: SECOND / 100,
            cap: SECOND / 100,
        };
    });
    let engine = world.start().await;
    for number in 0..100 {
        world.send_twice(&engine, &format!("evt_{number}")).await;
    }
    tokio::time::sleep(120 * SECOND).await;
    let attempts = world.sink.seen().len();
    assert!(attempts < 40, "{attempts} attempts in two minutes");
    assert!(engine.destinations()[0].breaker_open_for.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_long_attempt_keeps_its_lease_and_runs_once() {
    let mut world = World::new(|_, _| (25 * SECOND, AttemptResult::done(200)));
    world.destination(|billing| billing.lease = 3 * SECOND);
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    assert_eq!(world.sink.seen().len(), 1);
    assert_eq!(world.record(id).await.deliveries[0].lost, 0);
}

/// A store that takes calls and is slow to write outcomes, as one in which somebody else has locked a row.
#[tokio::test(start_paused = true)]
async fn what_was_delivered_keeps_its_lease_until_that_is_written() {
    let mut world = World::new(|_, call| {
        (
            SECOND,
            if call == 1 {
                failed()
            } else {
                AttemptResult::done(200)
            },
        )
    });
    world.destination(|billing| billing.lease = 3 * SECOND);
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_slow_outcomes(40 * SECOND));
    let engine = world.start().await;
    // The second one's outcome waits behind the first one's.
    let first = world.send_twice(&engine, "evt_1").await;
    tokio::time::sleep(SECOND / 2).await;
    let second = world.send_twice(&engine, "evt_2").await;
    for id in [first, second] {
        world.until(id, EventStatus::Completed).await;
        assert_eq!(world.record(id).await.deliveries[0].lost, 0);
    }
    assert_eq!(world.sink.ids(), ["evt_1", "evt_2", "evt_1", "evt_2"]);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_written_for_minutes_is_left_to_others() {
    let mut world = World::healthy();
    world.destination(|billing| billing.lease = 3 * SECOND);
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_slow_outcomes(100_000 * SECOND));
    let engine = world.start().await;
    world.send_twice(&engine, "evt_1").await;
    tokio::time::sleep(115 * SECOND).await;
    assert_eq!(world.sink.seen().len(), 1);
    tokio::time::sleep(15 * SECOND).await;
    assert_eq!(world.sink.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_whose_lease_is_lost_is_aborted_and_writes_nothing() {
    let mut world = World::new(|_, _| (25 * SECOND, failed()));
    world.destination(|billing| billing.lease = 3 * SECOND);
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    tokio::time::sleep(SECOND / 2).await;
    let hold = world.sink.holds.lock()[0].clone();
    let report = Report {
        hold,
        attempt: None,
        outcome: AttemptOutcome::Completed,
    };
    world.store.finish(vec![report]).await.unwrap();
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(world.sink.aborted.load(Ordering::SeqCst), 1);
    assert_eq!(world.record(id).await.status, EventStatus::Completed);
    assert_eq!(world.sink.seen().len(), 1);
}

/// Leaves `count` deliveries in the store as if a process had died while running them.
async fn left_by_a_dead_process(world: &World, count: u32) {
    let ids = EventIds::default();
    let now: Timestamp = world.clock.now();
    for number in 0..count {
        let identity = Identity::new("shop", format!("evt_{number}"));
        let key = identity.key();
        let first_lease = Some(FirstLease {
            owner: Owner(7),
            lease_for: 5 * SECOND,
        });
        let event = NewEvent {
            id: ids.next(now, key, &SystemRandom::new()),
            key,
            identity,
            source: "shop".into(),
            event_type: None,
            received_at: now,
            signed_at: None,
            secret_index: None,
            raw_hash: BodyHash::of(b""),
            content_hash: None,
            headers: Headers::default(),
            body: bytes::Bytes::new(),
            batch: None,
            ledger_until: now.plus(1_000_000 * SECOND),
            indexed: Vec::new(),
            deliveries: vec![NewDelivery {
                destination: "billing".into(),
                lane: None,
                first_lease,
            }],
            claimed_body: None,
        };
        let answers = world
            .store
            .accept(vec![AcceptRequest { events: vec![event] }])
            .await;
        assert!(answers[0].is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_process_left_runs_again_one_at_a_time() {
    let world = World::new(|_, _| (SECOND, AttemptResult::done(200)));
    left_by_a_dead_process(&world, 20).await;
    let engine = world.start().await;
    // Fresh deliveries flow alongside the suspects.
    for number in 100..140 {
        world.send_twice(&engine, &format!("evt_{number}")).await;
    }
    world.until_count(EventStatus::Completed, 60).await;
    assert_eq!(world.sink.suspects_max.load(Ordering::SeqCst), 1);
    assert_eq!(world.sink.seen().len(), 60);
    assert!(world.sink.running_max.load(Ordering::SeqCst) > 1);
}

#[tokio::test(start_paused = true)]
async fn work_of_a_removed_destination_is_held_until_it_returns() {
    let world = World::new(|_, call| {
        (
            Duration::ZERO,
            if call == 1 {
                failed()
            } else {
                AttemptResult::done(200)
            },
        )
    });
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    let mut without = world.routing.clone();
    without.destinations.clear();
    engine.reconfigure(without);
    tokio::time::sleep(1_000 * SECOND).await;
    assert!(world.record(id).await.deliveries[0].state.is_unfinished());
    engine.reconfigure(world.routing.clone());
    world.until(id, EventStatus::Completed).await;
}
