//! Events for one destination, as an outbox's rows become.

use hapax_core::{EventStatus, Headers};
use hapax_engine::{Accepted, AttemptResult, DirectedEvent, Engine, IncomingEvent, Pattern, Refusal};

use crate::harness::{SECOND, World, destination};

async fn accept(
    engine: &Engine,
    world: &World,
    event_id: &str,
    order_key: Option<&str>,
) -> hapax_core::EventId {
    let directed_event = || DirectedEvent {
        incoming: world.incoming(event_id, event_id),
        to: "billing".into(),
        order_key: order_key.map(str::to_owned),
    };
    let first = engine.accept_for(directed_event()).await.unwrap();
    assert_eq!(first.status(), "accepted");
    let second = engine.accept_for(directed_event()).await.unwrap();
    assert_eq!((second.status(), second.id()), ("duplicate", first.id()));
    first.id()
}

#[tokio::test(start_paused = true)]
async fn it_goes_there_whatever_types_the_destination_wants() {
    let mut world = World::new(|_, _| (SECOND, AttemptResult::done(200)));
    world.destination(|destination| destination.events = vec![Pattern::new("never.*")]);
    let engine = world.start().await;
    let id = accept(&engine, &world, "a", None).await;
    world.until(id, EventStatus::Completed).await;
    assert_eq!(world.sink.ids(), ["a"]);
    let (_, routed) = world.send(&engine, "b").await;
    assert_eq!(world.record(routed).await.status, EventStatus::Ignored);
}

#[tokio::test(start_paused = true)]
async fn those_of_one_order_key_run_one_at_a_time_in_order_of_acceptance() {
    let mut world = World::new(|_, _| (SECOND, AttemptResult::done(200)));
    world.destination(|destination| destination.concurrency = 8);
    let engine = world.start().await;
    for id in ["a1", "a2", "a3"] {
        accept(&engine, &world, id, Some("a")).await;
    }
    accept(&engine, &world, "b1", Some("b")).await;
    world.until_count(EventStatus::Completed, 4).await;
    let ids = world.sink.ids();
    let of_a: Vec<&String> = ids.iter().filter(|id| id.starts_with('a')).collect();
    assert_eq!(of_a, ["a1", "a2", "a3"]);
    assert!(
        ids.iter().position(|id| id == "b1") < ids.iter().position(|id| id == "a2"),
        "{ids:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_is_not_there_is_refused_and_nothing_is_stored() {
    let world = World::new(|_, _| (SECOND, AttemptResult::done(200)));
    let engine = world.start().await;
    let directed_event = || DirectedEvent {
        incoming: world.incoming("a", "a"),
        to: "nowhere".into(),
        order_key: None,
    };
    for _ in 0..2 {
        let refused = engine.accept_for(directed_event()).await.unwrap_err();
        assert!(matches!(refused, Refusal::Rejected { .. }), "{refused}");
    }
    assert_eq!(world.send(&engine, "a").await.0, "accepted");
}

/// A world with a second destination.
fn two_destinations() -> World {
    let mut world = World::new(|_, _| (SECOND, AttemptResult::done(200)));
    world
        .routing
        .destinations
        .insert("mail".into(), destination("mail"));
    let route = world.routing.sources.get_mut(&"shop".into()).unwrap();
    route.deliver_to = vec!["billing".into(), "mail".into()];
    world
}

/// Accepts `k` for a destination, and for an address there if one is named.
async fn accept_k(engine: &Engine, world: &World, to: &str, address: Option<&str>, body: &str) -> Accepted {
    let address = address.map(|address| ("hapax-outbox-target", address.as_bytes()));
    let incoming = IncomingEvent {
        headers: Headers::pack(address),
        ..world.incoming("k", body)
    };
    let directed_event = DirectedEvent {
        incoming,
        to: to.into(),
        order_key: None,
    };
    engine.accept_for(directed_event).await.unwrap()
}

const TARGETS: [(&str, Option<&str>); 4] = [
    ("billing", None),
    ("mail", None),
    ("mail", Some("https://a.example.com/")),
    ("mail", Some("https://b.example.com/")),
];

#[tokio::test(start_paused = true)]
async fn one_id_goes_to_several_targets_once_to_each() {
    let world = two_destinations();
    let engine = world.start().await;
    let mut ids = Vec::new();
    for (to, address) in TARGETS {
        let first = accept_k(&engine, &world, to, address, "same").await;
        assert_eq!(first.status(), "accepted", "{to} {address:?}");
        ids.push(first.id());
    }
    // Long after the seen-cache has forgotten them.
    tokio::time::sleep(3600 * SECOND).await;
    for ((to, address), id) in TARGETS.into_iter().zip(&ids) {
        let again = accept_k(&engine, &world, to, address, "same").await;
        assert_eq!(
            (again.status(), again.id()),
            ("duplicate", *id),
            "{to} {address:?}"
        );
        let other = accept_k(&engine, &world, to, address, "other").await;
        assert_eq!(
            (other.status(), other.id()),
            ("conflict", *id),
            "{to} {address:?}"
        );
    }
    world.until_count(EventStatus::Completed, TARGETS.len()).await;
    assert_eq!(world.sink.seen().len(), TARGETS.len());
}

#[tokio::test(start_paused = true)]
async fn the_first_target_has_the_id_as_it_is_whatever_the_body_for_the_second() {
    let world = two_destinations();
    let engine = world.start().await;
    let first = accept_k(&engine, &world, "mail", None, "one").await;
    assert_eq!(first.event_id(), "k");
    let second = accept_k(&engine, &world, "billing", None, "two").await;
    assert_eq!(second.status(), "accepted");
    assert!(second.event_id().starts_with("k:to-"), "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_accepted_before_targets_were_told_apart_is_not_sent_there_again() {
    let mut world = two_destinations();
    let route = world.routing.sources.get_mut(&"shop".into()).unwrap();
    route.deliver_to = vec!["mail".into()];
    let before = world.start().await;
    // The ledger entry has no target, like everything that earlier versions accepted.
    let incoming = || IncomingEvent {
        headers: Headers::pack([("hapax-outbox-target", &b"https://a.example.com/"[..])]),
        ..world.incoming("k", "same")
    };
    let first = before.accept(vec![incoming()]).await.unwrap()[0].id();
    world.until(first, EventStatus::Completed).await;
    before.shutdown(SECOND).await;
    world.routing = two_destinations().routing;
    let engine = world.start().await;
    for _ in 0..2 {
        let same = accept_k(&engine, &world, "mail", Some("https://a.example.com/"), "same").await;
        assert_eq!((same.status(), same.id()), ("duplicate", first));
    }
    for address in ["https://b.example.com/", "https://c.example.com/"] {
        let other = accept_k(&engine, &world, "mail", Some(address), "same").await;
        assert_eq!(other.status(), "accepted", "{address}");
    }
    let conflict = accept_k(&engine, &world, "mail", Some("https://a.example.com/"), "other").await;
    assert_eq!((conflict.status(), conflict.id()), ("conflict", first));
}
