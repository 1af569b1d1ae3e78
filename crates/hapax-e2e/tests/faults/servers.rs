//! PostgreSQL itself: crashes and recovers, and is restarted cleanly, under load.

use hapax_test_postgres::{Server, Stop};

use super::world::World;

const ROUNDS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_loses_and_doubles_nothing() {
    under(Stop::Immediate, "PostgreSQL killed and recovered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_restarted_loses_and_doubles_nothing() {
    under(Stop::Fast, "PostgreSQL restarted").await;
}

async fn under(stop: Stop, fault: &str) {
    let world = World::on_postgres(Server::private(&[]).unwrap()).await;
    for _ in 0..ROUNDS {
        let load = world.load();
        load.until_answered(40).await;
        world.server().stop(stop).unwrap();
        load.until_refused(5).await;
        world.server().start().unwrap();
        load.until_answered(20).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict(fault, ROUNDS).await;
}
