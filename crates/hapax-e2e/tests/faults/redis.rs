//! Redis itself: killed and restarted, frozen, full, and without its scripts, under load.

use std::time::{Duration, Instant};

use hapax_test_redis::Server;

use super::world::{LIMIT, QUIET, World};
use hapax_testkit::{Connection, Sender, within};

const ROUNDS: usize = 3;
/// Each write is on the disk before it is acknowledged.
const SAFE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];
/// The longest that a response may take while Redis is silent: the call's limit for the previous batch, and for its
/// own.
const ANSWER_MAX: Duration = Duration::from_secs(12);
/// Deliveries while Redis is silent.
const ASKED: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_killed_loses_and_doubles_nothing_and_is_found_again() {
    let world = World::on_redis(Server::start(&SAFE).unwrap()).await;
    for round in 0..ROUNDS {
        let load = world.load();
        load.until_answered(40).await;
        world.redis().kill().unwrap();
        refused_in_time(&world, round).await;
        world.redis().restart().unwrap();
        // No one restarts the service: it recovers on its own.
        load.until_answered(40).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("Redis killed and started again", ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_frozen_is_503_in_time_and_loses_and_doubles_nothing() {
    let world = World::on_redis(Server::start(&SAFE).unwrap()).await;
    for round in 0..ROUNDS {
        let load = world.load();
        load.until_answered(20).await;
        world.redis().freeze().unwrap();
        refused_in_time(&world, round).await;
        world.redis().thaw().unwrap();
        load.until_answered(40).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("Redis frozen", ROUNDS).await;
}

/// Every delivery is answered with 503 within the limit.
async fn refused_in_time(world: &World, round: usize) {
    let address = world.replicas[round % world.replicas.len()].service.address();
    let begun = Instant::now();
    let asked = (0..ASKED).map(|number| async move {
        let sender = Sender::to_source("github", QUIET);
        let delivery = sender.event(&format!("refused-{round}-{number}"));
        Connection::to(address).deliver(&delivery).await
    });
    let answers = within(
        "every delivery is answered",
        LIMIT,
        futures_util::future::join_all(asked),
    )
    .await;
    let took = begun.elapsed();
    for answer in answers {
        answer.assert_problem(503, "store_unavailable");
    }
    assert!(took < ANSWER_MAX, "answers took {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_without_memory_is_503_drains_its_work_and_loses_and_doubles_nothing() {
    let world = World::on_redis(Server::start(&SAFE).unwrap()).await;
    for _ in 0..ROUNDS {
        let load = world.load();
        load.until_answered(20).await;
        // Less than it uses now: no further event fits.
        limit_memory(&world, "1");
        load.until_refused(20).await;
        // Events that were acknowledged before are still delivered.
        world.settle().await;
        limit_memory(&world, "0");
        load.until_answered(20).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("no memory left in Redis", ROUNDS).await;
}

fn limit_memory(world: &World, bytes: &str) {
    let redis = world.redis();
    redis.call(&["CONFIG", "SET", "maxmemory", bytes]).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_forgets_its_scripts_is_told_them_again() {
    let world = World::on_redis(Server::start(&SAFE).unwrap()).await;
    for _ in 0..ROUNDS {
        let load = world.load();
        load.until_answered(20).await;
        world.redis().call(&["SCRIPT", "FLUSH"]).unwrap();
        load.until_answered(40).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("Redis without its scripts", ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_drops_every_connection_loses_and_doubles_nothing() {
    let world = World::on_redis(Server::start(&SAFE).unwrap()).await;
    for _ in 0..ROUNDS {
        let load = world.load();
        load.until_answered(20).await;
        for _ in 0..ROUNDS {
            world.redis().call(&["CLIENT", "KILL", "TYPE", "normal"]).unwrap();
            load.until_answered(10).await;
        }
        load.stop().await;
        world.settle().await;
    }
    world
        .verdict("Redis drops every connection", ROUNDS * ROUNDS)
        .await;
}
