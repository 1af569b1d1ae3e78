//! `on_conflict = "accept"`: other content under a known id is a separate event.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use hapax_core::{BodyHash, ContentHash, EventStatus, Headers, OnDead};
use hapax_engine::{Engine, IncomingEvent, OnConflict, Processed};

use crate::harness::{SECOND, World, statuses};

/// A world whose source accepts conflicts.
fn accepting() -> World {
    let mut world = World::healthy();
    let route = world.routing.sources.get_mut(&"shop".into()).unwrap();
    route.on_conflict = OnConflict::Accept;
    world
}

/// Sends content under `evt_1`. Returns the answer's status, the event's id and the Hapax id.
async fn send(world: &World, engine: &Engine, body: &str) -> (&'static str, String, hapax_core::EventId) {
    let answer = engine
        .accept(vec![world.incoming("evt_1", body)])
        .await
        .unwrap()
        .remove(0);
    (answer.status(), answer.event_id().to_owned(), answer.id())
}

fn id_of(body: &str) -> String {
    format!("evt_1%conflict:{}", BodyHash::of(body.as_bytes()))
}

#[tokio::test(start_paused = true)]
async fn each_content_under_one_id_is_an_event_of_its_own_and_repeats_of_it_are_duplicates() {
    for seen_for in [Duration::ZERO, 10 * SECOND] {
        let mut world = accepting();
        world.limits.seen_for = seen_for;
        let engine = world.start().await;
        let expected = [
            ("first", "evt_1".to_owned()),
            ("second", id_of("second")),
            ("third", id_of("third")),
        ];
        let mut ids = Vec::new();
        for (body, event_id) in &expected {
            let (status, accepted_as, id) = send(&world, &engine, body).await;
            assert_eq!((status, &accepted_as), ("accepted", event_id));
            ids.push(id);
        }
        for wait in [Duration::ZERO, 3600 * SECOND] {
            // First the cache knows them; later only the ledger does.
            tokio::time::sleep(wait).await;
            for ((body, event_id), id) in expected.iter().zip(&ids) {
                assert_eq!(
                    send(&world, &engine, body).await,
                    ("duplicate", event_id.clone(), *id)
                );
            }
        }
        world.until_count(EventStatus::Completed, 3).await;
        let keys: HashSet<_> = world.sink.seen().into_iter().map(|seen| seen.key).collect();
        assert_eq!(
            (world.sink.seen().len(), keys.len()),
            (3, 3),
            "each has its own key"
        );
        let first = world.record(ids[0]).await;
        assert!(first.conflicts.is_empty(), "nothing is stored as a conflict");
        tokio::time::sleep(5 * SECOND).await;
        let duplicates = world.record(ids[1]).await.duplicates.unwrap().count;
        assert_eq!(duplicates, 2, "its duplicates are counted separately");
    }
}

#[tokio::test(start_paused = true)]
async fn of_many_duplicates_of_a_contested_event_at_once_one_is_new() {
    let mut world = accepting();
    world.limits.accept_in_flight = 4;
    world.limits.accept_batch = 3;
    let engine = world.start().await;
    let bodies = (0..60).map(|number| format!("body {}", number % 3));
    let arrivals = bodies.map(|body| engine.accept(vec![world.incoming("evt_1", &body)]));
    let answers: Vec<_> = join_all(arrivals)
        .await
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    let new = answers.iter().filter(|answer| answer.status() == "accepted");
    assert_eq!(new.count(), 3);
    let ids: HashSet<_> = answers.iter().map(hapax_engine::Accepted::id).collect();
    assert_eq!(ids.len(), 3);
    world.until_count(EventStatus::Completed, 3).await;
    assert_eq!(world.sink.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn each_event_of_a_batch_is_judged_by_itself() {
    let world = accepting();
    let engine = world.start().await;
    let items = [("a", "1"), ("a", "2"), ("b", "1"), ("a", "2"), ("a", "1")];
    let batch = || items.map(|(id, body)| world.incoming(id, body)).to_vec();
    assert_eq!(
        statuses(engine.accept(batch()).await),
        ["accepted", "accepted", "accepted", "duplicate", "duplicate"]
    );
    assert_eq!(statuses(engine.accept(batch()).await), ["duplicate"; 5]);
    world.until_count(EventStatus::Completed, 3).await;
}

#[tokio::test(start_paused = true)]
async fn what_changes_on_a_retry_makes_no_other_content() {
    let world = accepting();
    let engine = world.start().await;
    let incoming = |body: &str, content: &[u8]| IncomingEvent {
        content_hash: Some(ContentHash {
            rule: "without /attempt".to_owned(),
            hash: BodyHash::of(content),
        }),
        ..world.incoming("evt_1", body)
    };
    for (body, content, status) in [
        ("one, attempt 1", b"one", "accepted"),
        ("two, attempt 1", b"two", "accepted"),
        ("two, attempt 2", b"two", "duplicate"),
        ("one, attempt 2", b"one", "duplicate"),
        ("two, attempt 3", b"two", "duplicate"),
    ] {
        assert_eq!(
            statuses(engine.accept(vec![incoming(body, content)]).await),
            [status],
            "{body}"
        );
        tokio::time::sleep(60 * SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_hashed_by_another_rule_before_an_upgrade_is_kept_aside_and_not_accepted_again() {
    let world = accepting();
    let engine = world.start().await;
    assert_eq!(send(&world, &engine, "one, attempt 1").await.0, "accepted");
    let retry = || IncomingEvent {
        content_hash: Some(ContentHash {
            rule: "without /attempt".to_owned(),
            hash: BodyHash::of(b"one"),
        }),
        ..world.incoming("evt_1", "one, attempt 2")
    };
    for _ in 0..2 {
        assert_eq!(statuses(engine.accept(vec![retry()]).await), ["conflict"]);
        tokio::time::sleep(60 * SECOND).await;
    }
    assert_eq!(world.sink.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_a_duplicate_for_its_own_window_also_after_the_first_ones() {
    let mut world = accepting();
    world.limits.retain_every = SECOND;
    let route = world.routing.sources.get_mut(&"shop".into()).unwrap();
    (route.ledger_window, route.payload_retention, route.dead_retention) =
        (600 * SECOND, 60 * SECOND, 60 * SECOND);
    let engine = world.start().await;
    assert_eq!(send(&world, &engine, "first").await.0, "accepted");
    assert_eq!(send(&world, &engine, "first").await.0, "duplicate");
    tokio::time::sleep(500 * SECOND).await;
    let (status, event_id, id) = send(&world, &engine, "second").await;
    assert_eq!((status, &event_id), ("accepted", &id_of("second")));
    // The ledger forgets the first.
    tokio::time::sleep(200 * SECOND).await;
    assert_eq!(send(&world, &engine, "second").await, ("duplicate", event_id, id));
    assert_eq!(send(&world, &engine, "first").await.0, "accepted");
}

#[tokio::test(start_paused = true)]
async fn it_keeps_its_place_in_a_lane_and_can_be_waited_for() {
    let mut world = accepting();
    world.ordered(OnDead::Hold);
    let engine = world.start().await;
    let incoming = |body: &str| IncomingEvent {
        headers: Headers::pack([("lane", &b"one"[..])]),
        ..world.incoming("evt_1", body)
    };
    for (body, status) in [("a", "accepted"), ("b", "accepted"), ("b", "duplicate")] {
        let answers = engine.accept(vec![incoming(body)]).await.unwrap();
        assert_eq!(answers[0].status(), status);
        let processed = engine.processed(&answers, 10 * SECOND).await.unwrap();
        assert_eq!(processed, Processed::Done);
    }
    assert_eq!(world.sink.ids(), ["evt_1".to_owned(), id_of("b")]);
}
