//! Accepting: the answers, and that 2xx means durable.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::CONFLICTS_MAX;
use hapax_core::{BodyHash, Clock, ContentHash, EventStatus, Identity};
use hapax_engine::{IncomingEvent, Rate, Refusal};
use hapax_store_laws::MemoryStore;
use hapax_store_laws::model::AcceptTrouble;

use crate::harness::{SECOND, World, route, statuses};

#[tokio::test(start_paused = true)]
async fn of_many_duplicates_at_once_one_is_new_and_it_runs_once() {
    let world = World::healthy();
    let engine = world.start().await;
    let duplicates = (0..50).map(|_| engine.accept(vec![world.incoming("evt_1", "body")]));
    let answers = futures_util::future::join_all(duplicates).await;
    let accepted = answers
        .into_iter()
        .map(|answer| answer.unwrap().remove(0))
        .collect::<Vec<_>>();
    assert_eq!(
        accepted
            .iter()
            .filter(|answer| answer.status() == "accepted")
            .count(),
        1
    );
    assert!(accepted.iter().all(|answer| answer.id() == accepted[0].id()));
    world.until(accepted[0].id(), EventStatus::Completed).await;
    assert_eq!(world.sink.ids(), ["evt_1"]);
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_a_duplicate_with_and_without_the_cache() {
    let mut world = World::healthy();
    for seen_for in [Duration::ZERO, 10 * SECOND] {
        world.limits.seen_for = seen_for;
        let engine = world.start().await;
        world.send_twice(&engine, &format!("evt_{seen_for:?}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_cache_tells_duplicates_from_conflicts_as_the_store_does() {
    let content = |rule: &str, content: &str| {
        Some(ContentHash {
            rule: rule.to_owned(),
            hash: BodyHash::of(content.as_bytes()),
        })
    };
    let contents = [
        None,
        content("without /a", "one"),
        content("without /a", "two"),
        content("without /b", "one"),
    ];
    let mut world = World::healthy();
    for seen_for in [Duration::ZERO, 10 * SECOND] {
        world.limits.seen_for = seen_for;
        let engine = world.start().await;
        for (at, first) in contents.iter().enumerate() {
            for (of, again) in contents.iter().enumerate() {
                for body in ["body", "other"] {
                    let event_id = format!("evt_{seen_for:?}_{at}_{of}_{body}");
                    let incoming = |content_hash: Option<&ContentHash>, body: &str| IncomingEvent {
                        content_hash: content_hash.cloned(),
                        ..world.incoming(&event_id, body)
                    };
                    let is_same = body == "body" || (first.is_some() && first == again);
                    let expected = if is_same { "duplicate" } else { "conflict" };
                    let answer = engine.accept(vec![incoming(first.as_ref(), "body")]).await;
                    assert_eq!(statuses(answer), ["accepted"], "{event_id}");
                    for _ in 0..2 {
                        let answer = engine.accept(vec![incoming(again.as_ref(), body)]).await;
                        assert_eq!(statuses(answer), [expected], "{event_id}");
                    }
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_body_under_a_known_id_is_kept_aside_and_can_be_released_once() {
    let world = World::healthy();
    let engine = world.start().await;
    let first = world.send_twice(&engine, "evt_1").await;
    for _ in 0..2 {
        assert_eq!(
            statuses(engine.accept(vec![world.incoming("evt_1", "other")]).await),
            ["conflict"]
        );
    }
    let conflicts = world.record(first).await.conflicts;
    assert_eq!((conflicts.len(), conflicts[0].seen), (1, 2));
    world.until(first, EventStatus::Completed).await;
    assert_eq!(world.sink.ids(), ["evt_1"], "the conflicting body must not run");

    let released = engine
        .release_conflict(first, BodyHash::of(b"other"), "ann")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        engine
            .release_conflict(first, BodyHash::of(b"other"), "ann")
            .await
            .unwrap(),
        Some(released)
    );
    world.until(released, EventStatus::Completed).await;
    assert_eq!(world.sink.seen().len(), 2);
    assert_eq!(
        engine
            .release_conflict(first, BodyHash::of(b"never came"), "ann")
            .await
            .unwrap(),
        None
    );
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_kept_together_and_hold_up_nobody_else() {
    let mut world = World::healthy();
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_slow_conflicts(SECOND));
    let engine = world.start().await;
    let first = world.send_twice(&engine, "evt_1").await;
    world.send_twice(&engine, "evt_2").await;
    let sent = world.clock_now();
    let conflict = async |number: usize| {
        let incoming = world.incoming(["evt_1", "evt_2"][number % 2], &format!("other {}", number / 2));
        let answers = statuses(engine.accept(vec![incoming]).await);
        (answers, world.clock_now().saturating_sub(sent))
    };
    let new = async |number: usize| {
        world.send_twice(&engine, &format!("new_{number}")).await;
        world.clock_now().saturating_sub(sent)
    };
    let conflicts = futures_util::future::join_all((0..100).map(conflict));
    let new = futures_util::future::join_all((0..100).map(new));
    let (conflicts, new) = futures_util::future::join(conflicts, new).await;
    let slowest = new.into_iter().max().unwrap();
    assert_eq!(slowest, Duration::ZERO, "a new event waited for a conflict");
    for (answers, took) in conflicts {
        assert_eq!(answers, ["conflict"]);
        assert!(took <= 2 * SECOND, "conflicts were stored one by one: {took:?}");
    }
    assert_eq!(world.record(first).await.conflicts.len(), CONFLICTS_MAX);
    assert_eq!(
        engine.shutdown(SECOND).await.released,
        0,
        "queued conflicts are stored before the engine stops"
    );
}

#[tokio::test(start_paused = true)]
async fn conflicts_that_find_no_room_are_refused_and_new_events_are_not() {
    let mut world = World::healthy();
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_slow_conflicts(SECOND));
    world.limits.conflict_queue = 4;
    let engine = world.start().await;
    world.send_twice(&engine, "evt_1").await;
    let conflicts = (0..20).map(|number| engine.accept(vec![world.incoming("evt_1", &number.to_string())]));
    let conflicts = futures_util::future::join_all(conflicts);
    let (answers, _) = futures_util::future::join(conflicts, world.send_twice(&engine, "evt_2")).await;
    let refused = |answer: &&_| matches!(answer, Err(Refusal::Overloaded { .. }));
    assert_eq!(answers.iter().filter(refused).count(), 16);
    let kept = answers.into_iter().filter(Result::is_ok).map(statuses);
    assert!(kept.into_iter().all(|answers| answers == ["conflict"]));
}

#[tokio::test(start_paused = true)]
async fn several_events_in_one_request_are_each_claimed_by_itself() {
    let world = World::healthy();
    let engine = world.start().await;
    world.send_twice(&engine, "b").await;
    let batch = ["a", "b", "c"].map(|id| world.incoming(id, id)).to_vec();
    assert_eq!(
        statuses(engine.accept(batch.clone()).await),
        ["accepted", "duplicate", "accepted"]
    );
    assert_eq!(
        statuses(engine.accept(batch).await),
        ["duplicate", "duplicate", "duplicate"]
    );
    let mixed = [("a", "a"), ("b", "other"), ("d", "d"), ("c", "other")];
    let mixed = mixed.map(|(id, body)| world.incoming(id, body)).to_vec();
    assert_eq!(
        statuses(engine.accept(mixed.clone()).await),
        ["duplicate", "conflict", "accepted", "conflict"]
    );
    assert_eq!(
        statuses(engine.accept(mixed).await),
        ["duplicate", "conflict", "duplicate", "conflict"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_up_loses_nothing_and_doubles_nothing() {
    let world = World::healthy();
    let engine = world.start().await;
    {
        let accepting = engine.accept(vec![world.incoming("evt_1", "evt_1")]);
        tokio::pin!(accepting);
        // Polled once: queued, not answered. Then the client disconnects.
        assert!(futures_util::poll!(&mut accepting).is_pending());
    }
    let (status, id) = world.send(&engine, "evt_1").await;
    assert_eq!(status, "duplicate");
    world.until(id, EventStatus::Completed).await;
    assert_eq!(world.sink.ids(), ["evt_1"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_instead_of_growing() {
    let mut world = World::healthy();
    world.limits.accept_queue = 4;
    let engine = world.start().await;
    let many = (0..100).map(|number| engine.accept(vec![world.incoming(&number.to_string(), "")]));
    let answers = futures_util::future::join_all(many).await;
    let refused = answers
        .iter()
        .filter(|answer| matches!(answer, Err(Refusal::Overloaded { .. })))
        .count();
    assert_eq!(refused, 96);
    assert!(statuses(engine.accept(vec![world.incoming("99", "")]).await) == ["accepted"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_over_its_rate_is_told_when_to_come_again() {
    let mut world = World::healthy();
    let mut limited = route("shop", &["billing"]);
    limited.rate = Some(Rate {
        count: 2,
        per: SECOND,
    });
    world.routing.sources.insert("shop".into(), limited);
    let engine = world.start().await;
    world.send_twice(&engine, "evt_1").await;
    let refusal = engine
        .accept(vec![world.incoming("evt_2", "")])
        .await
        .unwrap_err();
    assert_eq!(
        refusal,
        Refusal::RateLimited {
            retry_after: SECOND / 2
        }
    );
    tokio::time::sleep(SECOND).await;
    world.send_twice(&engine, "evt_2").await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_source_is_refused() {
    let world = World::healthy();
    let engine = world.start().await;
    let mut incoming = world.incoming("evt_1", "");
    incoming.source = "nobody".into();
    for _ in 0..2 {
        assert_eq!(
            engine.accept(vec![incoming.clone()]).await,
            Err(Refusal::UnknownSource)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_steps_back_neither_loses_nor_doubles() {
    let world = World::healthy();
    let engine = world.start().await;
    let before = world.send_twice(&engine, "before").await;
    world.clock.step(-86_400);
    let after = world.send_twice(&engine, "after").await;
    assert!(after > before, "ids must increase");
    assert_eq!(world.send(&engine, "before").await.0, "duplicate");
    world.until(after, EventStatus::Completed).await;
    world.until(before, EventStatus::Completed).await;
    assert_eq!(world.sink.ids().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn duplicates_are_tallied_and_bodies_under_unsigned_ids_flagged() {
    let mut world = World::healthy();
    let mut unsigned = route("shop", &[]);
    unsigned.id_is_signed = false;
    world.routing.sources.insert("shop".into(), unsigned);
    let engine = world.start().await;
    let first = engine.accept(vec![world.incoming("one", "same")]).await.unwrap()[0].id();
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(
        statuses(engine.accept(vec![world.incoming("one", "same")]).await),
        ["duplicate"]
    );
    let second = engine.accept(vec![world.incoming("two", "same")]).await.unwrap()[0].id();
    tokio::time::sleep(5 * SECOND).await;
    let tally = world.record(first).await.duplicates.unwrap();
    assert_eq!((tally.count, tally.gaps_ms), (1, vec![5_000]));
    assert_eq!(world.record(second).await.same_body_as, Some(first));
    assert_eq!(world.record(first).await.same_body_as, None);
    assert!(
        world
            .store
            .look_up(&Identity::new("shop", "two"))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_not_made_takes_nothing_from_its_destinations_rate() {
    for trouble in [AcceptTrouble::Fails, AcceptTrouble::IsRepeated] {
        let mut world = World::healthy();
        let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
        world.store = Arc::new(store.with_trouble(trouble));
        world.destination(|billing| {
            billing.rate = Some(Rate {
                count: 1,
                per: 3600 * SECOND,
            });
        });
        let engine = world.start().await;
        // Nothing waits in the store, so the first event starts immediately.
        tokio::time::sleep(SECOND).await;
        let first = engine.accept(vec![world.incoming("evt_1", "evt_1")]).await;
        assert_eq!(first.is_err(), trouble == AcceptTrouble::Fails, "{first:?}");
        let sent = world.clock_now();
        world.send_twice(&engine, "evt_2").await;
        tokio::time::sleep(10 * SECOND).await;
        let seen = world.sink.seen();
        assert_eq!(world.sink.ids(), ["evt_2"], "{trouble:?}");
        assert!(
            seen[0].at.saturating_sub(sent) <= 2 * SECOND,
            "{trouble:?}: {seen:?}"
        );
    }
}
