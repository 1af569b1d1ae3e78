//! The operator: replays finished events and pauses destinations, in the middle of everything else.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{EventQuery, ReplayMode};
use hapax_core::{DestinationId, Operations as _};
use hapax_engine::ReplayRequest;

use crate::history::Fact;
use crate::random::Dice;
use crate::world::World;

/// The actor in the history.
const WHO: &str = "operator";
/// The reason in the history.
const WHY: &str = "the seed said so";

/// The maximum rate of a replay job, in events per second.
const RATE_MAX: u64 = 8;

/// Asks the replica at a position to replay an event, under the same key: nothing may take effect twice.
pub fn replay(world: &Arc<World>, place: usize, dice: &Dice) {
    let (Some(replica), Some(event)) = (world.door.at(place), world.vault.any_event(dice)) else {
        return;
    };
    let Some(engine) = replica.engine else { return };
    note(world, format!("{} to replay {event}", replica.process));
    world.executor.spawn(replica.process, async move {
        // Refused while deliveries are unfinished, and lost if the store is unreachable: both are fine.
        let _ = engine.replay(event, ReplayMode::All, None, WHO, WHY).await;
    });
}

/// Asks the replica at a position to let every event take effect once more: a job, which another replica may continue.
pub fn force(world: &Arc<World>, place: usize, dice: &Dice) {
    let Some(replica) = world.door.at(place) else {
        return;
    };
    let Some(engine) = replica.engine else { return };
    let request = ReplayRequest {
        query: EventQuery::default(),
        mode: ReplayMode::Force,
        to: None,
        rate_per_second: dice.between(1, RATE_MAX) as u32,
        who: WHO.into(),
        why: WHY.to_owned(),
    };
    world.history.note(Fact::Forced(replica.process));
    world.executor.spawn(replica.process, async move {
        // If it fails, there is no job, or one that the caller does not know about.
        let _ = engine.start_replay(request).await;
    });
}

/// Asks the replica at a position to pause a destination, for every replica, and resumes it after a while.
pub async fn hold(world: &Arc<World>, place: usize, duration: Duration, dice: &Dice) {
    let destinations = world.settings.destinations();
    let destination = destinations[dice.index(destinations.len())].clone();
    if let Some(replica) = world.door.at(place)
        && let Some(engine) = replica.engine
    {
        note(world, format!("{} to pause {destination}", replica.process));
        let paused = destination.clone();
        world.executor.spawn(replica.process, async move {
            // If it fails, nothing is paused, or it will be resumed.
            let _ = engine.pause(paused, WHO, WHY).await;
        });
    }
    world.executor.sleep(duration).await;
    resume(world, &destination).await;
}

/// Resumes every paused destination, including pauses that took effect late.
pub async fn resume_all(world: &World) {
    for destination in world.settings.destinations() {
        resume(world, &destination).await;
    }
}

async fn resume(world: &World, destination: &DestinationId) {
    // The model never fails.
    if let Ok(true) = world.vault.model.resume(destination).await {
        note(world, format!("the store to resume {destination}"));
    }
}

fn note(world: &World, what: String) {
    world.history.note(Fact::Asked(what));
}
