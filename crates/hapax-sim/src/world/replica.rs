//! A replica: one start of the engine in its own process, with its own clock, randomness and link to the store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Clock, ErrorClass, Leased};
use hapax_engine::{AttemptResult, Engine, Parts, Silent, Transport};
use hapax_store_laws::model::Restart;
use tokio::sync::oneshot;

use super::World;
use super::door::Replica;
use crate::clock::SkewedClock;
use crate::executor::{Process, ProcessRuntime};
use crate::history::Fact;
use crate::random::Dice;
use crate::store::Link;

/// The most that a clock is off when its process starts.
const SKEW_MILLIS_MAX: u64 = 30_000;
/// The pause before a failed start is retried.
const START_AGAIN: Duration = Duration::from_millis(300);

/// Starts a replica at a position.
pub fn start(world: &Arc<World>, place: usize, dice: Dice) {
    let process = world.door.next_process();
    let skew = dice.between(0, 2 * SKEW_MILLIS_MAX) as i64 - SKEW_MILLIS_MAX as i64;
    let clock = Arc::new(SkewedClock::new(world.executor.clone(), skew));
    let replica = Replica {
        process,
        engine: None,
        clock: Arc::clone(&clock),
    };
    world.door.put(place, replica.clone());
    world.history.note(Fact::Started(process));
    match world.settings.leases_at_start {
        Restart::VoidsLeases => world.vault.void_leases(),
        Restart::KeepsLeases => {}
    }
    let parts = parts(world, process, clock, dice);
    let world_of_task = Arc::clone(world);
    world.executor.spawn(process, async move {
        let world = world_of_task;
        loop {
            let (routing, limits) = (world.settings.routing(), world.settings.limits.clone());
            if let Ok(engine) = Engine::start(parts.clone(), routing, limits).await {
                let engine = Some(engine);
                return world.door.put(place, Replica { engine, ..replica });
            }
            world.executor.sleep(START_AGAIN).await;
        }
    });
}

fn parts(world: &Arc<World>, process: Process, clock: Arc<SkewedClock>, dice: Dice) -> Parts {
    let executor = world.executor.clone();
    Parts {
        store: Arc::new(Link {
            process,
            executor: executor.clone(),
            network: world.network.clone(),
            vault: Arc::clone(&world.vault),
        }),
        clock: clock as Arc<dyn Clock>,
        random: Arc::new(dice),
        runtime: Arc::new(ProcessRuntime { executor, process }),
        transport: Arc::new(Courier(Arc::clone(world))),
        observer: Arc::new(Silent),
    }
}

/// Carries attempts to the destinations. An attempt in flight continues when its process dies or drops it.
struct Courier(Arc<World>);

#[async_trait]
impl Transport for Courier {
    async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        let (answer, answered) = oneshot::channel();
        let (sinks, delivery) = (Arc::clone(&self.0.sinks), delivery.clone());
        self.0.executor.spawn(Process::WORLD, async move {
            if let Some(reply) = sinks.receive(&delivery).await {
                // The process may have died, or dropped the attempt.
                let _ = answer.send(reply);
            }
        });
        answered
            .await
            .unwrap_or_else(|_| AttemptResult::failed(ErrorClass::Protocol, "the connection broke"))
    }
}
