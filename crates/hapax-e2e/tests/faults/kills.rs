//! SIGKILL: at every fail point, and at random moments.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use hapax_fail_points::ALL;
use hapax_test_postgres::Server;

use super::load::Load;
use super::world::{LIMIT, World};
use hapax_testkit::{run, seed, within};

/// How many processes are killed across all stores; `HAPAX_FAULT_KILLS` sets another number.
const KILLS: usize = 50;
/// How often a point is reached before it kills.
const REACHED: std::ops::RangeInclusive<u32> = 1..=6;
/// The number of responses in a round after which a process is killed at an arbitrary moment.
const ANSWERS: std::ops::RangeInclusive<usize> = 10..=120;
const SIGKILL: i32 = 9;
/// The prefixes of each store's points.
const STORES: [&str; 3] = ["sqlite.", "postgres.", "redis."];

#[expect(clippy::disallowed_methods, reason = "tests have variables of their own")]
fn kills() -> usize {
    let given = std::env::var("HAPAX_FAULT_KILLS").ok();
    given.map_or(KILLS, |text| text.parse().expect("HAPAX_FAULT_KILLS is a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_every_fail_point_loses_and_doubles_nothing_on_sqlite() {
    at_every_point(World::on_sqlite().await, "sqlite.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_every_fail_point_loses_and_doubles_nothing_on_postgres() {
    at_every_point(World::on_postgres(Server::shared().unwrap()).await, "postgres.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_every_fail_point_loses_and_doubles_nothing_on_redis() {
    at_every_point(World::on_shared_redis().await, "redis.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_at_random_moments_lose_and_double_nothing_on_sqlite() {
    at_random(World::on_sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_at_random_moments_lose_and_double_nothing_on_postgres() {
    at_random(World::on_postgres(Server::shared().unwrap()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_at_random_moments_lose_and_double_nothing_on_redis() {
    at_random(World::on_shared_redis().await).await;
}

/// Every point except those of other stores, as often as it takes.
async fn at_every_point(mut world: World, of_this_store: &str) {
    let mut random = fastrand::Rng::with_seed(seed());
    let points: Vec<&str> = ALL
        .iter()
        .map(|point| point.name)
        .filter(|name| is_reached(name, of_this_store))
        .collect();
    let rounds = points.len().max(kills() * 2 / 5);
    for round in 0..rounds {
        let point = points[round % points.len()];
        let replica = round % world.replicas.len();
        println!("round {round}: {point} in replica {replica}");
        world.order_kill(replica, point, random.u32(REACHED));
        let load = world.load();
        until_dead(&mut world, replica, point, &load).await;
        mend(&mut world, replica, round, load).await;
    }
    world.verdict("SIGKILL at each fail point", rounds).await;
}

fn is_reached(point: &str, of_this_store: &str) -> bool {
    point.starts_with(of_this_store) || !STORES.iter().any(|store| point.starts_with(store))
}

async fn until_dead(world: &mut World, replica: usize, point: &str, load: &Load) {
    load.until_answered(1).await;
    let service = &mut world.replicas[replica].service;
    let folder = service.setup.path().to_owned();
    let ended = tokio::select! {
        ended = service.ended(LIMIT) => ended,
        () = replays(&folder), if point.starts_with("replay.") => unreachable!("it goes on until the process is dead"),
    };
    assert_eq!(ended.signal(), Some(SIGKILL), "at {point}: {}", service.log());
}

/// Starts one bulk replay after the other, whatever happens to each.
async fn replays(folder: &Path) {
    let again = "replay --mode all --source orders --since 1h --rate 10000";
    let again: Vec<&str> = again.split(' ').collect();
    loop {
        let outcome = run(folder, &again).await;
        println!("{} {}", outcome.stdout.trim_end(), outcome.stderr.trim_end());
    }
}

async fn at_random(mut world: World) {
    let mut random = fastrand::Rng::with_seed(seed());
    let rounds = kills() / 10;
    for round in 0..rounds {
        let replica = round % world.replicas.len();
        let load = world.load();
        load.until_answered(random.usize(ANSWERS)).await;
        world.replicas[replica].service.kill().await;
        mend(&mut world, replica, round, load).await;
    }
    world.verdict("SIGKILL at random moments", rounds).await;
}

/// Restarts the killed process, and lets every started delivery be answered.
async fn mend(world: &mut World, replica: usize, round: usize, load: Load) {
    world.glance().await;
    within(
        "the service starts again",
        LIMIT,
        world.replicas[replica].service.start_again(),
    )
    .await;
    load.stop().await;
    world.glance().await;
    // A delivery that is in progress at three kills in a row counts as their cause, and is dead by contract.
    if round % 2 == 1 {
        world.settle().await;
    }
}
