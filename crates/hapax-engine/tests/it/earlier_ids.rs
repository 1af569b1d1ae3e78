//! Ids by an earlier rule: events from before an upgrade are known after it.

use hapax_core::{BodyHash, ContentHash, EventStatus};
use hapax_engine::IncomingEvent;

use crate::harness::{SECOND, World, statuses};

/// An event that had the id `old` and now has `new`.
fn incoming(world: &World, body: &str) -> IncomingEvent {
    IncomingEvent {
        earlier_id: Some("old".to_owned()),
        ..world.incoming("new", body)
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_accepted_under_the_earlier_id_is_a_duplicate_and_other_content_is_new() {
    let world = World::healthy();
    let before = world.start().await;
    let answers = before.accept(vec![world.incoming("old", "body")]).await.unwrap();
    let first = answers[0].id();
    before.shutdown(SECOND).await;
    let engine = world.start().await;
    for wait in [SECOND, SECOND, 3600 * SECOND] {
        let answers = engine.accept(vec![incoming(&world, "body")]).await.unwrap();
        let answer = &answers[0];
        assert_eq!(
            (answer.status(), answer.id(), answer.event_id()),
            ("duplicate", first, "old")
        );
        tokio::time::sleep(wait).await;
    }
    assert_eq!(world.record(first).await.duplicates.unwrap().count, 3);
    for status in ["accepted", "duplicate"] {
        let answers = engine.accept(vec![incoming(&world, "other")]).await.unwrap();
        assert_eq!((answers[0].status(), answers[0].event_id()), (status, "new"));
    }
    world.until_count(EventStatus::Completed, 2).await;
    assert_eq!(world.sink.ids(), ["old", "new"]);
}

#[tokio::test(start_paused = true)]
async fn content_is_compared_by_the_rule_of_the_first() {
    let world = World::healthy();
    let engine = world.start().await;
    assert_eq!(
        statuses(engine.accept(vec![world.incoming("old", "1")]).await),
        ["accepted"]
    );
    // The content rule is new as well, so only the raw bytes can decide.
    let reduced = |body: &str| IncomingEvent {
        content_hash: Some(ContentHash {
            rule: "without /attempt".to_owned(),
            hash: BodyHash::of(b"content"),
        }),
        ..incoming(&world, body)
    };
    assert_eq!(statuses(engine.accept(vec![reduced("1")]).await), ["duplicate"]);
    assert_eq!(statuses(engine.accept(vec![reduced("2")]).await), ["accepted"]);
    assert_eq!(statuses(engine.accept(vec![reduced("3")]).await), ["duplicate"]);
}

#[tokio::test(start_paused = true)]
async fn of_many_duplicates_without_an_earlier_one_exactly_one_is_new() {
    let world = World::healthy();
    let engine = world.start().await;
    let duplicates =
        (0..50).map(|_| engine.accept(vec![incoming(&world, "body"), world.incoming("else", "body")]));
    let answers = futures_util::future::join_all(duplicates).await;
    let new = answers.into_iter().flat_map(Result::unwrap);
    let new: Vec<_> = new.filter(|answer| answer.status() == "accepted").collect();
    assert_eq!(new.len(), 2);
    world.until_count(EventStatus::Completed, 2).await;
    assert_eq!(world.sink.seen().len(), 2);
}
