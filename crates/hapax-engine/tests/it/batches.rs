//! How requests become batches: fuller ones while the store is busy, and none of them waits without a reason.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hapax_core::{Clock, EventStatus};
use hapax_engine::{Engine, Observation, Observer};
use hapax_store_laws::MemoryStore;
use hapax_store_laws::model::AcceptTrouble;
use parking_lot::Mutex;

use crate::harness::{SECOND, World};

const MILLISECOND: Duration = Duration::from_millis(1);
/// How long the store takes for a batch.
const WRITE: Duration = Duration::from_millis(100);

/// The number of events in each batch, in the order in which the store answered.
#[derive(Default)]
struct Sizes(Mutex<Vec<usize>>);

impl Sizes {
    /// The sizes since the last call.
    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Observer for Sizes {
    fn observe(&self, observation: &Observation<'_>) {
        if let Observation::StoreWrite { events, .. } = observation {
            self.0.lock().push(*events);
        }
    }
}

/// A store that takes its time, four batches at once, and requests that wait for each other as long as it takes.
fn busy() -> (World, Arc<Sizes>) {
    let mut world = World::healthy();
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_slow_accepts(WRITE));
    let sizes = Arc::new(Sizes::default());
    world.observer = Arc::clone(&sizes) as Arc<dyn Observer>;
    world.limits.accept_in_flight = 4;
    world.limits.accept_wait = 10 * SECOND;
    (world, sizes)
}

/// Sends events one after another, a millisecond apart. Returns when each was answered.
async fn send(world: &World, engine: &Engine, name: &str, count: u32) -> Vec<Duration> {
    let sent = world.clock_now();
    let arrivals = (0..count).map(|number| async move {
        tokio::time::sleep(MILLISECOND * number).await;
        let (status, _) = world.send(engine, &format!("{name}_{number}")).await;
        assert_eq!(status, "accepted");
        world.clock_now().saturating_sub(sent)
    });
    join_all(arrivals).await
}

/// Every event is known by now.
async fn all_are_duplicates(world: &World, engine: &Engine, name: &str, count: u32) {
    for number in 0..count {
        let (status, _) = world.send(engine, &format!("{name}_{number}")).await;
        assert_eq!(status, "duplicate", "{name}_{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_come_while_a_batch_is_written_make_one_batch() {
    let (world, sizes) = busy();
    let engine = world.start().await;
    let answered = send(&world, &engine, "evt", 32).await;
    assert_eq!(sizes.take(), [1, 31]);
    assert_eq!(answered.first(), Some(&WRITE), "the first went at once");
    assert_eq!(
        answered.last(),
        Some(&(2 * WRITE)),
        "the others when it was written"
    );
    all_are_duplicates(&world, &engine, "evt", 32).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_comes_alone_goes_at_once() {
    let (world, sizes) = busy();
    let engine = world.start().await;
    for number in 0..5 {
        let answered = send(&world, &engine, &format!("evt_{number}"), 1).await;
        assert_eq!(answered, [WRITE]);
        all_are_duplicates(&world, &engine, &format!("evt_{number}"), 1).await;
    }
    assert_eq!(sizes.take(), [1; 5], "duplicates are answered from memory");
}

#[tokio::test(start_paused = true)]
async fn a_full_batch_is_written_beside_another_one() {
    let (world, sizes) = busy();
    let full = u32::try_from(world.limits.accept_full).unwrap();
    let engine = world.start().await;
    let answered = send(&world, &engine, "evt", 1 + full).await;
    assert_eq!(sizes.take(), [1, world.limits.accept_full]);
    assert_eq!(answered.last(), Some(&(WRITE + MILLISECOND * full)));
    all_are_duplicates(&world, &engine, "evt", 1 + full).await;
}

#[tokio::test(start_paused = true)]
async fn no_more_batches_are_written_at_once_than_allowed_and_none_is_too_large() {
    let (mut world, sizes) = busy();
    world.limits.accept_in_flight = 2;
    world.limits.accept_full = 3;
    world.limits.accept_batch = 8;
    let engine = world.start().await;
    // Two batches at the start, and a large one each time that one of them ends.
    let answered = send(&world, &engine, "evt", 40).await;
    assert_eq!(sizes.take(), [1, 3, 8, 8, 8, 8, 4]);
    let last = answered.into_iter().max().unwrap();
    assert_eq!(last, 4 * WRITE, "two by two");
    all_are_duplicates(&world, &engine, "evt", 40).await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_hangs_holds_up_nobody_else() {
    let (mut world, sizes) = busy();
    world.limits.accept_wait = 10 * MILLISECOND;
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_trouble(AcceptTrouble::Hangs(3600 * SECOND)));
    let engine = world.start().await;
    let stuck = send(&world, &engine, "stuck", 1);
    let others = async {
        tokio::time::sleep(SECOND).await;
        let answered = send(&world, &engine, "evt", 5).await;
        assert_eq!(sizes.take(), [5], "they waited for each other");
        answered
    };
    let (stuck, others) = futures_util::future::join(stuck, others).await;
    assert_eq!(stuck, [3600 * SECOND]);
    assert_eq!(others, [world.limits.accept_wait; 5]);
    all_are_duplicates(&world, &engine, "evt", 5).await;
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_are_written_before_the_engine_stops() {
    let (world, sizes) = busy();
    let engine = world.start().await;
    let sent = send(&world, &engine, "evt", 20);
    let stopped = async {
        tokio::time::sleep(WRITE / 2).await;
        engine.shutdown(SECOND).await
    };
    let (answered, _) = futures_util::future::join(sent, stopped).await;
    assert_eq!(sizes.take(), [1, 19]);
    let last = answered.last();
    assert_eq!(
        last,
        Some(&(WRITE / 2 + WRITE)),
        "the end starts what has gathered"
    );
    let engine = world.start().await;
    world.until_count(EventStatus::Completed, 20).await;
    all_are_duplicates(&world, &engine, "evt", 20).await;
}
