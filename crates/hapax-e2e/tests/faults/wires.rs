//! The link to the store: cut, slow, half open, and the response to a write lost; on PostgreSQL the application's
//! database uses the same link.

use std::time::Duration;

use hapax_test_postgres::Server;

use super::link::{Link, Mood};
use super::world::{LIMIT, World};
use hapax_testkit::eventually;

const ROUNDS: usize = 4;
/// Responses to COMMIT that are lost in one round.
const ANSWERS_LOST: usize = 5;
const SLOW: Duration = Duration::from_millis(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wire_that_is_cut_loses_and_doubles_nothing() {
    under(on_postgres().await, Mood::Cut, "the link to the database cut").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wire_that_is_slow_loses_and_doubles_nothing() {
    let mood = Mood::Slow(SLOW);
    under(on_postgres().await, mood, "the link to the database slow").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wire_that_is_half_open_loses_and_doubles_nothing() {
    let mood = Mood::HalfOpen;
    under(on_postgres().await, mood, "the link to the database half open").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wire_to_redis_that_is_cut_loses_and_doubles_nothing() {
    under(
        World::on_shared_redis().await,
        Mood::Cut,
        "the link to the database cut",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wire_to_redis_that_is_slow_loses_and_doubles_nothing() {
    let mood = Mood::Slow(SLOW);
    under(
        World::on_shared_redis().await,
        mood,
        "the link to the database slow",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wire_to_redis_that_is_half_open_loses_and_doubles_nothing() {
    let mood = Mood::HalfOpen;
    under(
        World::on_shared_redis().await,
        mood,
        "the link to the database half open",
    )
    .await;
}

async fn on_postgres() -> World {
    World::on_postgres(Server::shared().unwrap()).await
}

/// One replica's link at a time; the other continues.
async fn under(world: World, mood: Mood, fault: &str) {
    for round in 0..ROUNDS {
        let load = world.load();
        load.until_answered(20).await;
        link(&world, round).set(mood);
        load.until_answered(60).await;
        world.glance().await;
        link(&world, round).set(Mood::Through);
        load.stop().await;
        world.settle().await;
    }
    world.verdict(fault, ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_neither_lost_nor_doubled() {
    without_answers(on_postgres().await, "the answer to COMMIT lost").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_whose_answer_is_lost_is_neither_lost_nor_doubled() {
    without_answers(World::on_shared_redis().await, "the answer to a script lost").await;
}

async fn without_answers(world: World, fault: &str) {
    for round in 0..ROUNDS {
        let load = world.load();
        let wire = link(&world, round);
        for _ in 0..ANSWERS_LOST {
            lose_one(wire).await;
        }
        load.stop().await;
        world.settle().await;
    }
    let lost = world.replicas.iter().filter_map(|replica| replica.link.as_ref());
    let lost = lost.map(Link::answers_lost).sum();
    assert_eq!(lost, ROUNDS * ANSWERS_LOST);
    world.verdict(fault, lost).await;
}

async fn lose_one(wire: &Link) {
    let before = wire.answers_lost();
    wire.set(Mood::LoseAnswer);
    eventually("an answer to a write is lost", LIMIT, async || {
        (wire.answers_lost() > before).then_some(())
    })
    .await;
}

fn link(world: &World, round: usize) -> &Link {
    let replica = &world.replicas[round % world.replicas.len()];
    replica.link.as_ref().expect("a server is reached by a wire")
}
