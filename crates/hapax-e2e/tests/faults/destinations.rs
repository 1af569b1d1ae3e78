//! Unreliable destinations: slow beyond the timeout, silent, gone after the effect, and lying.

use std::time::Duration;

use hapax_test_postgres::Server;

use super::history::DestinationKind;
use super::world::World;
use hapax_testkit::{Received, Reply};

const EVENTS: usize = 120;
/// Longer than an attempt may take, and than its lease.
const TOO_SLOW: Duration = Duration::from_millis(2_200);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_lies_and_dawdles_gets_one_key_for_each_event_on_sqlite() {
    deceive(World::on_sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_lies_and_dawdles_gets_one_key_for_each_event_on_postgres() {
    deceive(World::on_postgres(Server::shared().unwrap()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_lies_and_dawdles_gets_one_key_for_each_event_on_redis() {
    deceive(World::on_shared_redis().await).await;
}

async fn deceive(world: World) {
    world.sink.behave(untrustworthy);
    let load = world.load();
    load.until_answered(EVENTS).await;
    load.stop().await;
    world.settle().await;
    let tricked = world.sink.received().iter().filter(|one| is_tricked(one)).count();
    assert!(
        tricked > 0,
        "no attempt at {:?} was ill received",
        DestinationKind::App
    );
    world.verdict("destinations that are slow or lie", tricked).await;
}

fn is_tricked(received: &Received) -> bool {
    !matches!(untrustworthy(received), Reply::Status(200))
}

fn untrustworthy(received: &Received) -> Reply {
    let digit = received.key.bytes().last().unwrap_or_default();
    match (digit, received.nth) {
        (b'0' | b'1', 1 | 2) => Reply::LieAfterApplying(500),
        (b'2' | b'3', 1 | 2) => Reply::DropAfterApplying,
        (b'4', 1) => Reply::Slow(TOO_SLOW, 200),
        (b'5', 1) => Reply::Hang,
        (b'6' | b'7', 1) => Reply::with(503, &[("retry-after", "0")]),
        (b'8', 1) => Reply::Status(500),
        _ => Reply::Status(200),
    }
}
