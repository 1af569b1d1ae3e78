//! Exhausted resources: disk space, open files, memory.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;

use hapax_test_postgres::Server;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use super::world::{LIMIT, World};
use hapax_testkit::{Connection, Sender, eventually};

const ROUNDS: usize = 3;
const SIGABRT: i32 = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_without_room_loses_and_doubles_nothing() {
    let world = World::on_sqlite().await;
    for _ in 0..ROUNDS {
        let service = &world.replicas[0].service;
        let load = world.load();
        load.until_answered(20).await;
        // One page: no further page fits, neither in the store's log nor in the application's file.
        limit(service.pid(), Resource::Fsize, Some(1 << 12));
        load.until_refused(20).await;
        limit(service.pid(), Resource::Fsize, None);
        load.until_answered(20).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("no room on the disk", ROUNDS).await;
}

/// Without room for its log PostgreSQL panics, and does not recover until there is some.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_disk_has_no_room_loses_and_doubles_nothing() {
    let world = World::on_postgres(Server::private(&[]).unwrap()).await;
    for _ in 0..ROUNDS {
        let load = world.load();
        load.until_answered(20).await;
        world.server().fill_disk().unwrap();
        load.until_refused(20).await;
        eventually("the server gives up", LIMIT, async || {
            (!world.server().is_running().unwrap()).then_some(())
        })
        .await;
        world.server().start().unwrap();
        load.until_answered(20).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("no room on the disk", ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_descriptors_loses_and_doubles_nothing() {
    without_descriptors(World::on_sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_without_descriptors_loses_and_doubles_nothing() {
    without_descriptors(World::on_postgres(Server::shared().unwrap()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_on_redis_without_descriptors_loses_and_doubles_nothing() {
    without_descriptors(World::on_shared_redis().await).await;
}

async fn without_descriptors(world: World) {
    for round in 0..ROUNDS {
        let process = world.replicas[round % world.replicas.len()].service.pid();
        let load = world.load();
        load.until_answered(20).await;
        limit(process, Resource::Nofile, Some(1));
        load.until_refused(20).await;
        limit(process, Resource::Nofile, Some(1024));
        load.until_answered(20).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("no descriptors left", ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_memory_aborts_and_loses_and_doubles_nothing() {
    without_memory(World::on_sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_without_memory_aborts_and_loses_and_doubles_nothing() {
    without_memory(World::on_postgres(Server::shared().unwrap()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_on_redis_without_memory_aborts_and_loses_and_doubles_nothing() {
    without_memory(World::on_shared_redis().await).await;
}

async fn without_memory(mut world: World) {
    for round in 0..ROUNDS {
        let replica = round % world.replicas.len();
        let load = world.load();
        load.until_answered(20).await;
        let service = &mut world.replicas[replica].service;
        limit(service.pid(), Resource::As, Some(0));
        let heavy = tokio::spawn(weigh_down(service.address()));
        let ended = service.ended(LIMIT).await;
        heavy.abort();
        assert_eq!(ended.signal(), Some(SIGABRT), "{}", service.log());
        service.start_again().await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("no memory left", ROUNDS).await;
}

/// Large bodies, again and again: sooner or later the process asks for memory that it does not get.
async fn weigh_down(address: SocketAddr) {
    let sender = Sender::to_source("github", "orders");
    let heavy = sender.with_body("heavy", vec![b' '; 4 << 20]);
    loop {
        // There is no response once the process is gone.
        drop(Connection::to(address).try_deliver(&heavy).await);
        tokio::task::yield_now().await;
    }
}

/// Sets the soft limit of a running process; `None` is the most that it may have.
fn limit(process: Pid, resource: Resource, current: Option<u64>) {
    let maximum = getrlimit(resource).maximum;
    let limit = Rlimit {
        current: current.or(maximum),
        maximum,
    };
    prlimit(Some(process), resource, limit).unwrap();
}
