//! Duplicates that are recognised by their body alone: the same answers as for a body that was read, and none for a body
//! that was not.

use std::time::Duration;

use hapax_core::{ContentHash, EventId, EventStatus, Fingerprinter, Headers, Identity, SystemRandom};
use hapax_engine::{Accepted, Accepting, BodyFacts, Engine, IncomingEvent, OnConflict, Rate, Refusal};

use crate::harness::{SECOND, World};

struct Shop {
    world: World,
    engine: Engine,
    fingerprints: Fingerprinter,
}

impl Shop {
    async fn of(world: World) -> Self {
        Self {
            engine: world.start().await,
            world,
            fingerprints: Fingerprinter::new(&SystemRandom::new()).unwrap(),
        }
    }

    /// Reads a request and accepts its event.
    async fn read(&self, event_id: &str, body: &str) -> Accepted {
        self.accept(self.world.incoming(event_id, body)).await
    }

    async fn accept(&self, incoming: IncomingEvent) -> Accepted {
        let facts = BodyFacts {
            fingerprints: Some(&self.fingerprints),
            raw_hash: None,
        };
        let begun = self.engine.begin_accept(vec![incoming], facts);
        let mut answers = match begun.unwrap() {
            Accepting::Answered(answers) => answers,
            Accepting::Waiting(answer) => answer.await.unwrap(),
        };
        answers.remove(0)
    }

    /// Answers a request without reading it, if its body is known.
    fn recall(&self, body: &str) -> Option<Result<Accepted, Refusal>> {
        let fingerprint = self.fingerprints.of(body.as_bytes()).unwrap();
        let recalled = self.engine.recall(fingerprint)?;
        let at = self.world.incoming("", "").received_at;
        let headers = Headers::default();
        Some(
            self.engine
                .accept_recalled(recalled, &"shop".into(), at, &headers),
        )
    }

    /// Sends an event and its duplicate.
    async fn send_twice(&self, event_id: &str, body: &str) -> EventId {
        let (first, second) = (self.read(event_id, body).await, self.read(event_id, body).await);
        assert_eq!((first.status(), second.status()), ("accepted", "duplicate"));
        first.id()
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_was_a_duplicate_is_answered_as_when_it_is_read() {
    let shop = Shop::of(World::healthy()).await;
    assert!(!shop.engine.knows_bodies());
    let first = shop.read("evt_1", "body").await;
    assert_eq!(first.status(), "accepted");
    assert!(shop.recall("body").is_none(), "no duplicate has arrived yet");
    let read = shop.read("evt_1", "body").await;
    assert!(shop.engine.knows_bodies());
    for _ in 0..2 {
        assert_eq!(shop.recall("body").unwrap().unwrap(), read);
    }
    assert_eq!((read.status(), read.id()), ("duplicate", first.id()));
    shop.world.until(first.id(), EventStatus::Completed).await;
    assert_eq!(shop.world.sink.ids(), ["evt_1"]);
    tokio::time::sleep(2 * SECOND).await;
    let identity = Identity::new("shop", "evt_1");
    let tally = shop.world.store.duplicates(&identity).await.unwrap().unwrap();
    assert_eq!(tally.count, 3, "recalled duplicates are counted like others");
}

#[tokio::test(start_paused = true)]
async fn another_body_is_never_recalled_and_is_a_conflict() {
    let shop = Shop::of(World::healthy()).await;
    shop.send_twice("evt_1", "body").await;
    for other in ["bodz", "bod", "body ", ""] {
        assert!(shop.recall(other).is_none());
        for _ in 0..2 {
            assert_eq!(shop.read("evt_1", other).await.status(), "conflict");
            assert!(shop.recall(other).is_none(), "a conflict is stored every time");
        }
    }
    assert_eq!(shop.recall("body").unwrap().unwrap().status(), "duplicate");
}

#[tokio::test(start_paused = true)]
async fn a_body_is_recalled_no_longer_than_its_event_is_known() {
    let shop = Shop::of(World::healthy()).await;
    shop.send_twice("evt_1", "body").await;
    tokio::time::sleep(11 * SECOND).await;
    assert!(
        shop.recall("body").is_none(),
        "the cache knows an event for ten seconds"
    );
    assert_eq!(shop.read("evt_1", "body").await.status(), "duplicate");
    assert!(shop.recall("body").is_some());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_recalled_without_the_cache() {
    let mut world = World::healthy();
    world.limits.seen_for = Duration::ZERO;
    let shop = Shop::of(world).await;
    shop.send_twice("evt_1", "body").await;
    assert!(!shop.engine.knows_bodies() && shop.recall("body").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_event_is_not_recalled_whatever_takes_its_id() {
    let shop = Shop::of(World::healthy()).await;
    let first = shop.send_twice("evt_1", "body").await;
    shop.world.until(first, EventStatus::Completed).await;
    let identity = Identity::new("shop", "evt_1");
    shop.engine.forget(&identity, "ann").await.unwrap();
    assert!(shop.recall("body").is_none());
    let second = shop.send_twice("evt_1", "other").await;
    assert_ne!(first, second);
    assert!(
        shop.recall("body").is_none(),
        "the id belongs to another body now"
    );
    assert_eq!(shop.read("evt_1", "body").await.status(), "conflict");
    assert_eq!(shop.recall("other").unwrap().unwrap().id(), second);
}

#[tokio::test(start_paused = true)]
async fn a_body_with_the_same_content_is_recalled_as_the_event_it_was_compared_with() {
    let shop = Shop::of(World::healthy()).await;
    let attempt = |body: &str| IncomingEvent {
        content_hash: Some(ContentHash {
            rule: "without /attempt".to_owned(),
            hash: hapax_core::BodyHash::of(b"the rest"),
        }),
        ..shop.world.incoming("evt_1", body)
    };
    let first = shop.accept(attempt("attempt 1")).await;
    assert_eq!(shop.accept(attempt("attempt 2")).await.status(), "duplicate");
    assert!(
        shop.recall("attempt 1").is_none(),
        "only the second arrived as a duplicate"
    );
    assert_eq!(shop.recall("attempt 2").unwrap().unwrap().id(), first.id());
}

#[tokio::test(start_paused = true)]
async fn a_body_known_under_another_id_than_its_own_is_read_every_time() {
    let mut world = World::healthy();
    let route = world.routing.sources.get_mut(&"shop".into()).unwrap();
    route.on_conflict = OnConflict::Accept;
    let shop = Shop::of(world).await;
    shop.send_twice("evt_1", "body").await;
    shop.send_twice("evt_1", "other").await;
    assert!(shop.recall("other").is_none());
    let recalled = shop.recall("body").unwrap().unwrap();
    assert_eq!(recalled.event_id(), "evt_1");
}

#[tokio::test(start_paused = true)]
async fn the_rate_and_the_end_of_the_engine_apply_to_recalled_bodies() {
    let mut world = World::healthy();
    let route = world.routing.sources.get_mut(&"shop".into()).unwrap();
    route.rate = Some(Rate {
        count: 4,
        per: SECOND,
    });
    let shop = Shop::of(world).await;
    shop.send_twice("evt_1", "body").await;
    for _ in 0..2 {
        assert!(shop.recall("body").unwrap().is_ok());
    }
    let refused = shop.recall("body").unwrap().unwrap_err();
    assert!(matches!(refused, Refusal::RateLimited { .. }), "{refused:?}");
    shop.engine.shutdown(SECOND).await;
    let refused = shop.recall("body").unwrap().unwrap_err();
    assert!(matches!(refused, Refusal::ShuttingDown { .. }), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn while_someone_follows_the_tail_every_body_is_read_for_its_type() {
    let shop = Shop::of(World::healthy()).await;
    shop.send_twice("evt_1", "body").await;
    let mut tail = shop.engine.tail();
    assert!(shop.recall("body").is_none());
    assert_eq!(shop.read("evt_1", "body").await.status(), "duplicate");
    let notice = tail.try_recv().unwrap();
    assert_eq!(notice.event_type.as_deref(), Some("order.paid"));
    drop(tail);
    assert!(shop.recall("body").is_some());
}
