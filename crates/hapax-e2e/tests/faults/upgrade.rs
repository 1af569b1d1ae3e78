//! Upgrades: processes of the previous release are replaced by this one, one after the other, while providers, handlers
//! and an outbox continue.

use std::time::Duration;

use hapax_test_postgres::Server;
use hapax_test_redis::{Server as Redis, fresh_prefix};

use super::load::Load;
use super::release::Release::{self, Previous, This};
use super::world::{LIMIT, QUIET, World};
use hapax_testkit::{Reply, Sender, Service, Setup, Sink};

const FAULT: &str = "upgraded under load";
/// Responses between two steps.
const ANSWERS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_are_upgraded_one_by_one_lose_and_double_nothing_on_postgres() {
    one_by_one(World::release_on_postgres(Previous, Server::shared().unwrap()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_are_upgraded_one_by_one_lose_and_double_nothing_on_redis() {
    one_by_one(World::release_on_redis(Previous, Redis::shared().unwrap()).await).await;
}

async fn one_by_one(mut world: World) {
    let load = world.load();
    go_on(&world, &load).await;
    world.replicas[0].service.stop().await;
    // From here on the store has this release's schema, and the other replica does not know.
    world.replicas[0].start_as(This).await;
    go_on(&world, &load).await;
    // The old replica is alone with it, and with the leases of the new one.
    world.replicas[0].service.kill().await;
    load.until_answered(ANSWERS).await;
    world.replicas[0].service.start_again().await;
    // A supervisor restarts a dead process as the release that it was.
    world.replicas[1].service.kill().await;
    load.until_answered(ANSWERS).await;
    world.replicas[1].service.start_again().await;
    go_on(&world, &load).await;
    world.replicas[1].service.stop().await;
    world.replicas[1].start_as(This).await;
    go_on(&world, &load).await;
    load.stop().await;
    world.verdict(FAULT, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_upgraded_taken_back_and_upgraded_again_loses_and_doubles_nothing_on_sqlite() {
    let mut world = World::release_on_sqlite(Previous).await;
    let load = world.load();
    go_on(&world, &load).await;
    world.replicas[0].service.stop().await;
    world.replicas[0].start_as(This).await;
    go_on(&world, &load).await;
    world.replicas[0].service.kill().await;
    world.replicas[0].start_as(Previous).await;
    go_on(&world, &load).await;
    world.replicas[0].service.kill().await;
    world.replicas[0].start_as(This).await;
    go_on(&world, &load).await;
    load.stop().await;
    world.verdict(FAULT, 3).await;
}

/// Every running replica takes its share.
async fn go_on(world: &World, load: &Load) {
    let sender = Sender::to_source("github", QUIET);
    for replica in &world.replicas {
        let id = format!("quiet-{:016x}", fastrand::u64(..));
        replica.service.deliver_twice(&sender.event(&id)).await;
    }
    load.until_answered(ANSWERS).await;
    world.glance().await;
}

/// Longer than a process may be silent before it counts as dead; shorter than its leases.
const LONG: Duration = Duration::from_secs(20);
const PATIENT: &str = "concurrency = 2\nlease = \"60s\"\ntimeout = \"50s\"";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_and_a_new_replica_leave_each_others_long_attempts_alone_on_postgres() {
    let database = Server::shared().unwrap().database().await.unwrap();
    side_by_side(&database.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_and_a_new_replica_leave_each_others_long_attempts_alone_on_redis() {
    let server = Redis::shared().unwrap();
    side_by_side(&server.url_with_prefix(&fresh_prefix())).await;
}

async fn side_by_side(store: &str) {
    let sink = Sink::that(|_| Reply::Slow(LONG, 200)).await;
    let old = start(Previous, &sink, store).await;
    let _new = start(This, &sink, store).await;
    let sender = Sender::of("stripe");
    let mut ids = Vec::new();
    // As many as there are slots, including those of the other replica.
    for number in 0..4 {
        ids.push(old.deliver_twice(&sender.event(&format!("evt_{number}"))).await);
    }
    sink.until_received(4, LIMIT).await;
    assert_eq!(sink.applications(), 0, "both are busy at the same time");
    for id in &ids {
        let event = old.until_event_is(id, "completed", LIMIT).await;
        assert_eq!(event["deliveries"][0]["lost"], 0, "{event}");
    }
    assert_eq!(sink.received().len(), 4, "each was attempted once");
}

async fn start(release: Release, sink: &Sink, store: &str) -> Service {
    let setup = Setup::stripe_to_with(sink, PATIENT)
        .database(store)
        .before("exec ./hapax serve");
    release.install(setup.path());
    setup.start().await
}
