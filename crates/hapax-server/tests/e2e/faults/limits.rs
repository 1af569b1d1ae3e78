//! What the machine may run out of: room on the disk, open files, memory.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

use super::world::{LIMIT, World};
use crate::harness::{Connection, Sender, Service};

const ROUNDS: usize = 3;
const SIGABRT: i32 = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_without_room_loses_and_doubles_nothing() {
    let world = World::on_sqlite().await;
    for _ in 0..ROUNDS {
        let service = &world.replicas[0].service;
        let load = world.load();
        load.until_answered(20).await;
        // As much as the log has now: the next page does not fit, in the store and in the application's file.
        limit(service, Resource::Fsize, Some(1 << 12));
        load.until_refused(20).await;
        limit(service, Resource::Fsize, None);
        load.until_answered(20).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("no room on the disk", ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_descriptors_loses_and_doubles_nothing() {
    let world = World::on_sqlite().await;
    for _ in 0..ROUNDS {
        let service = &world.replicas[0].service;
        let load = world.load();
        load.until_answered(20).await;
        limit(service, Resource::Nofile, Some(1));
        load.until_refused(20).await;
        limit(service, Resource::Nofile, Some(1024));
        load.until_answered(20).await;
        load.stop().await;
        world.settle().await;
    }
    world.verdict("no descriptors left", ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_memory_aborts_and_loses_and_doubles_nothing() {
    let mut world = World::on_sqlite().await;
    for _ in 0..ROUNDS {
        let load = world.load();
        load.until_answered(20).await;
        let service = &mut world.replicas[0].service;
        limit(service, Resource::As, Some(0));
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

/// Large bodies, again and again: sooner or later the process asks for memory, and there is none.
async fn weigh_down(address: SocketAddr) {
    let sender = Sender::to_source("github", "orders");
    let heavy = sender.with_body("heavy", vec![b' '; 4 << 20]);
    loop {
        // It has no answer once the process is gone.
        drop(Connection::to(address).try_deliver(&heavy).await);
        tokio::task::yield_now().await;
    }
}

/// The soft limit of a running process; none is as much as it may have.
fn limit(service: &Service, resource: Resource, current: Option<u64>) {
    let maximum = getrlimit(resource).maximum;
    let limit = Rlimit {
        current: current.or(maximum),
        maximum,
    };
    prlimit(Some(service.pid()), resource, limit).unwrap();
}
