//! SIGSTOP past the lease: another process runs the deliveries of the frozen one, and the zombie changes nothing when
//! it wakes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hapax_test_postgres::Server;
use rustix::process::Signal;

use super::world::{LIMIT, World};
use hapax_testkit::{Gate, Reply, Sink};

const ROUNDS: usize = 2;
/// Attempts in progress when a process is frozen, its own and the other's.
const IN_HAND: usize = 6;
/// How long a process without a replica is frozen: longer than its leases.
const FROZEN: Duration = Duration::from_millis(2_500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_wakes_past_its_leases_loses_and_doubles_nothing_on_postgres() {
    freeze(World::on_postgres(Server::shared().unwrap()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_wakes_past_its_leases_loses_and_doubles_nothing_on_redis() {
    freeze(World::on_shared_redis().await).await;
}

async fn freeze(world: World) {
    for round in 0..ROUNDS {
        let zombie = round % world.replicas.len();
        let load = world.load();
        let gate = hold_at(&world, round).await;
        world.replicas[zombie].service.signal(Signal::STOP);
        load.until_answered(20).await;
        load.stop().await;
        // Everything, including what the frozen process holds: the other has taken it over.
        world.settle().await;
        world.replicas[zombie].service.signal(Signal::CONT);
        gate.open();
        let load = world.load();
        load.until_answered(20).await;
        load.stop().await;
    }
    world.verdict("SIGSTOP past the lease", ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_wakes_past_its_leases_loses_and_doubles_nothing_on_sqlite() {
    let world = World::on_sqlite().await;
    for round in 0..ROUNDS {
        let load = world.load();
        let gate = hold_at(&world, round).await;
        world.replicas[0].service.signal(Signal::STOP);
        // The fault itself: there is no other process to wait for.
        tokio::time::sleep(FROZEN).await;
        world.replicas[0].service.signal(Signal::CONT);
        gate.open();
        load.stop().await;
        world.settle().await;
    }
    world.verdict("SIGSTOP past the lease", ROUNDS).await;
}

/// Holds the next attempts until there are enough. All others succeed: a frozen process is not a broken destination.
async fn hold_at(world: &World, round: usize) -> Gate {
    let gate = Gate::closed();
    let (behind, held) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&held);
    world.sink.behave(move |_| {
        if count.fetch_add(1, Ordering::SeqCst) < IN_HAND {
            Reply::Behind(behind.clone(), 200)
        } else {
            Reply::Status(200)
        }
    });
    let what = format!("attempts are in hand in round {round}");
    let enough = |_: &Sink| held.load(Ordering::SeqCst) >= IN_HAND;
    world.sink.until(&what, LIMIT, enough).await;
    gate
}
