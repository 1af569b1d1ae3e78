//! Operating: pause, resume, forget, and the audit trail.

use hapax_core::store::Forgotten;
use hapax_core::{Clock as _, EventStatus, Generation, Identity};
use hapax_engine::AttemptResult;

use crate::harness::{SECOND, World, failed};

#[tokio::test(start_paused = true)]
async fn a_paused_destination_gets_nothing_until_resumed_even_over_a_restart() {
    let world = World::healthy();
    let engine = world.start().await;
    engine.pause("billing".into(), "ann", "deploy").await.unwrap();
    let id = world.send_twice(&engine, "evt_1").await;
    tokio::time::sleep(1_000 * SECOND).await;
    engine.shutdown(SECOND).await;
    let engine = world.start().await;
    tokio::time::sleep(1_000 * SECOND).await;
    assert!(world.sink.seen().is_empty());
    assert_eq!(
        engine.destinations()[0]
            .paused
            .as_ref()
            .map(|pause| pause.why.as_str()),
        Some("deploy")
    );
    assert!(engine.resume(&"billing".into(), "ann").await.unwrap());
    world.until(id, EventStatus::Completed).await;
    let (audit, _) = world.store.audit(None, 10).await.unwrap();
    let actions: Vec<_> = audit.iter().map(|record| record.entry.action.as_str()).collect();
    assert_eq!(actions, ["resume", "pause"]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_on_every_replica() {
    let world = World::healthy();
    let (here, there) = (world.start().await, world.start().await);
    here.pause("billing".into(), "ann", "deploy").await.unwrap();
    tokio::time::sleep(2 * SECOND).await;
    assert!(there.destinations()[0].paused.is_some());
    let id = world.send_twice(&there, "evt_1").await;
    tokio::time::sleep(100 * SECOND).await;
    assert!(world.sink.seen().is_empty());
    here.resume(&"billing".into(), "ann").await.unwrap();
    world.until(id, EventStatus::Completed).await;
    assert_eq!(world.sink.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn forget_lets_an_id_take_effect_again_under_a_new_key_once_no_cache_can_answer() {
    let world = World::healthy();
    let engine = world.start().await;
    let first = world.send_twice(&engine, "evt_1").await;
    world.until(first, EventStatus::Completed).await;
    let asked = world.clock.elapsed();
    let forgotten = engine
        .forget(&Identity::new("shop", "evt_1"), "ann")
        .await
        .unwrap();
    assert_eq!(forgotten, Forgotten::Done { next: Generation(1) });
    assert!(world.clock.elapsed().saturating_sub(asked) >= 10 * SECOND);
    let second = world.send_twice(&engine, "evt_1").await;
    world.until(second, EventStatus::Completed).await;
    let seen = world.sink.seen();
    assert_eq!(seen.len(), 2);
    assert_ne!(seen[0].key, seen[1].key);
}

#[tokio::test(start_paused = true)]
async fn forget_refuses_while_work_is_unfinished() {
    let world = World::new(|_, _| (10 * SECOND, AttemptResult::done(200)));
    let engine = world.start().await;
    world.send_twice(&engine, "evt_1").await;
    let identity = Identity::new("shop", "evt_1");
    assert_eq!(
        engine.forget(&identity, "ann").await.unwrap(),
        Forgotten::Unfinished
    );
    let unknown = Identity::new("shop", "never came");
    assert_eq!(engine.forget(&unknown, "ann").await.unwrap(), Forgotten::NotFound);
}

#[tokio::test(start_paused = true)]
async fn the_tail_shows_what_arrives() {
    let world = World::new(|_, _| (SECOND, failed()));
    let engine = world.start().await;
    let mut tail = engine.tail();
    world.send_twice(&engine, "evt_1").await;
    assert_eq!(tail.recv().await.unwrap().status, "accepted");
    assert_eq!(tail.recv().await.unwrap().status, "duplicate");
}
