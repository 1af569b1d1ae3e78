//! Search: its results, and how much of the store it says it covered.

use hapax_core::EventId;
use hapax_core::store::{BodyTerm, EventQuery};
use hapax_engine::{Coverage, Engine, Found, Routing};

use crate::harness::{SECOND, World};

/// The events of `shop` with this id in the body.
fn by_id(value: &str) -> EventQuery {
    EventQuery {
        source: Some("shop".into()),
        body: vec![BodyTerm {
            pointer: "/id".to_owned(),
            value: value.to_owned(),
        }],
        ..EventQuery::default()
    }
}

async fn send_twice(world: &World, engine: &Engine, id: &str) -> EventId {
    let incoming = || world.incoming(id, &format!("{{\"id\":\"{id}\"}}"));
    let first = engine.accept(vec![incoming()]).await.unwrap()[0].id();
    assert_eq!(
        engine.accept(vec![incoming()]).await.unwrap()[0].status(),
        "duplicate"
    );
    first
}

async fn search(engine: &Engine, value: &str) -> Found {
    engine.search(&by_id(value), None, 10).await.unwrap()
}

/// Waits, in virtual time, until searches use the index.
async fn until_indexed(engine: &Engine) {
    let reached = async {
        while !matches!(search(engine, "x").await.coverage, Coverage::IndexedSince(_)) {
            tokio::time::sleep(SECOND).await;
        }
    };
    tokio::time::timeout(60 * SECOND, reached).await.unwrap();
}

fn indexed(world: &World) -> Routing {
    let mut routing = world.routing.clone();
    let shop = routing.sources.get_mut(&"shop".into()).unwrap();
    shop.indexed = vec!["/id".to_owned()];
    routing
}

#[tokio::test(start_paused = true)]
async fn without_an_index_bodies_are_read_and_the_answer_says_so() {
    let world = World::healthy();
    let engine = world.start().await;
    send_twice(&world, &engine, "x").await;
    send_twice(&world, &engine, "y").await;
    let found = search(&engine, "x").await;
    assert_eq!((found.events.len(), found.next), (1, None));
    let read = Coverage::Newest {
        bodies_read: 2,
        is_cut: false,
    };
    assert_eq!(found.coverage, read);
}

#[tokio::test(start_paused = true)]
async fn an_indexed_field_finds_what_was_accepted_since_it_is_indexed() {
    let world = World::healthy();
    let engine = world.start().await;
    send_twice(&world, &engine, "x").await;
    engine.reconfigure(indexed(&world));
    until_indexed(&engine).await;
    assert_eq!(
        search(&engine, "x").await.events,
        [],
        "it arrived before the index"
    );
    let later = send_twice(&world, &engine, "y").await;
    let found = search(&engine, "y").await;
    assert_eq!(found.events.iter().map(|one| one.id).collect::<Vec<_>>(), [later]);
}

#[tokio::test(start_paused = true)]
async fn a_field_that_is_indexed_no_more_is_not_relied_on_from_that_moment() {
    let mut world = World::healthy();
    world.routing = indexed(&world);
    let engine = world.start().await;
    until_indexed(&engine).await;
    let Coverage::IndexedSince(first) = search(&engine, "x").await.coverage else {
        panic!("it is indexed");
    };
    let mut without = world.routing.clone();
    let shop = without.sources.get_mut(&"shop".into()).unwrap();
    shop.indexed.clear();
    engine.reconfigure(without);
    send_twice(&world, &engine, "x").await;
    let found = search(&engine, "x").await;
    assert_eq!(found.events.len(), 1, "its body is read");
    assert!(matches!(found.coverage, Coverage::Newest { .. }));
    tokio::time::sleep(SECOND).await;
    engine.reconfigure(world.routing.clone());
    until_indexed(&engine).await;
    let Coverage::IndexedSince(again) = search(&engine, "x").await.coverage else {
        panic!("it is indexed");
    };
    assert!(again > first, "the interruption begins it again");
}
