//! Faults: what happens and when, as the seed decides.

use std::sync::Arc;
use std::time::Duration;

use crate::executor::Process;
use crate::history::{Fact, Fault};
use crate::operator;
use crate::random::Dice;
use crate::world::{Settings, World, start};

/// How long a replica stays away.
const AWAY_MAX: Duration = Duration::from_secs(3);
/// How long the store stays down, or is cut off from one replica.
const DOWN_MAX: Duration = Duration::from_secs(4);
/// The same for long leases: longer than a process may go without reporting.
const DOWN_LONG_MAX: Duration = Duration::from_secs(25);
/// How long a replica is suspended when leases are long: noticed by no one, by itself, by others, by everyone.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(12),
    Duration::from_secs(20),
    Duration::from_secs(120),
];
/// How long a destination is paused.
const HOLD_MAX: Duration = Duration::from_secs(5);
/// The most that the store's clock is stepped.
const STORE_STEP_MILLIS: u64 = 6_000;
/// The most that a process's clock is stepped: more than the hour at which purging stops.
const STEP_MILLIS: u64 = 2 * 3_600_000;
/// How long a process may take to stop.
const STOP_MAX: Duration = Duration::from_secs(2);
/// After this long, a process that was told to stop is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(8);

/// A planned fault.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    after: Duration,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Kill the replica at this position, and start another later.
    Kill(usize),
    /// Stop the replica gracefully, and start another later.
    ShutDown(usize),
    /// Suspend the replica for this long.
    Pause(usize, Duration),
    /// Take the store down for this long.
    StoreDown(Duration),
    /// Cut the store off from the replica at this position.
    CutOff(usize, Duration),
    /// Step the store's clock.
    StepStore(i64),
    /// Step a replica's clock.
    Step(usize, i64),
    /// Replay one event.
    Replay(usize),
    /// Force a replay of everything.
    Force(usize),
    /// Pause a destination for this long.
    Hold(usize, Duration),
}

/// Draws the faults of a run.
pub fn plan(settings: &Settings, dice: &Dice) -> Vec<Planned> {
    let planned = (0..settings.faults).map(|_| Planned {
        after: dice.time(Duration::ZERO, settings.trouble),
        kind: draw(settings, dice),
    });
    planned.collect()
}

fn draw(settings: &Settings, dice: &Dice) -> Kind {
    let place = dice.index(settings.replicas);
    let (pause, down) = if settings.has_long_leases() {
        (PAUSES[dice.index(PAUSES.len())], DOWN_LONG_MAX)
    } else {
        (dice.time(settings.lease / 2, settings.lease * 4), DOWN_MAX)
    };
    let down = dice.time(Duration::from_millis(100), down);
    match dice.index(17) {
        0..=2 => Kind::Kill(place),
        3 => Kind::ShutDown(place),
        4..=6 => Kind::Pause(place, pause),
        7 if dice.chance(50) => Kind::CutOff(place, down),
        7 => Kind::StoreDown(down),
        8 => Kind::StepStore(step(dice, STORE_STEP_MILLIS)),
        9 => Kind::Step(place, step(dice, STEP_MILLIS)),
        10..=12 => Kind::Replay(place),
        13..=15 => Kind::Force(place),
        _ => Kind::Hold(place, dice.time(Duration::ZERO, HOLD_MAX)),
    }
}

fn step(dice: &Dice, millis_max: u64) -> i64 {
    dice.between(0, 2 * millis_max) as i64 - millis_max as i64
}

/// Waits until a fault is due, and runs it to its end.
pub async fn inject(world: &Arc<World>, planned: Planned, dice: Dice) {
    world.executor.sleep(planned.after).await;
    match planned.kind {
        Kind::Kill(place) => kill(world, place, dice).await,
        Kind::ShutDown(place) => shut_down(world, place, dice).await,
        Kind::Pause(place, duration) => pause(world, place, duration).await,
        Kind::StoreDown(duration) => {
            // Outages may overlap: the first to end ends both.
            world.network.take_store_down();
            world.executor.sleep(duration).await;
            world.network.bring_store_up();
        }
        Kind::CutOff(place, duration) => {
            if let Some(process) = world.door.at(place).map(|replica| replica.process) {
                world.network.cut_off(process);
                world.executor.sleep(duration).await;
                world.network.reconnect(process);
            }
        }
        Kind::StepStore(millis) => {
            note(world, Fault::StoreClockStepped(millis));
            world.vault.step_clock(millis);
        }
        Kind::Replay(place) => operator::replay(world, place, &dice),
        Kind::Force(place) => operator::force(world, place, &dice),
        Kind::Hold(place, duration) => operator::hold(world, place, duration, &dice).await,
        Kind::Step(place, millis) => {
            if let Some(replica) = world.door.at(place) {
                note(world, Fault::ClockStepped(replica.process, millis));
                replica.clock.step(millis);
            }
        }
    }
}

async fn kill(world: &Arc<World>, place: usize, dice: Dice) {
    let Some(replica) = world.door.take(place) else {
        return;
    };
    note(world, Fault::Killed(replica.process));
    world.executor.kill(replica.process);
    come_back(world, place, dice).await;
}

/// Another replica takes the position after a while.
async fn come_back(world: &Arc<World>, place: usize, dice: Dice) {
    let away = dice.time(Duration::ZERO, AWAY_MAX);
    world.executor.sleep(away).await;
    start(world, place, dice);
}

/// Stops a replica, and waits for it. One that has not started yet, or takes too long, is killed.
async fn shut_down(world: &Arc<World>, place: usize, dice: Dice) {
    let Some(replica) = world.door.take(place) else {
        return;
    };
    let (stopped, has_stopped) = tokio::sync::oneshot::channel();
    if let Some(engine) = replica.engine {
        world.executor.spawn(replica.process, async move {
            engine.shutdown(STOP_MAX).await;
            // The receiver may have stopped waiting.
            let _ = stopped.send(());
        });
    } else {
        drop(stopped);
    }
    let ended = tokio::select! {
        biased;
        ended = has_stopped => ended.is_ok(),
        () = world.executor.sleep(STOP_PATIENCE) => false,
    };
    let process = replica.process;
    note(
        world,
        if ended {
            Fault::ShutDown(process)
        } else {
            Fault::Killed(process)
        },
    );
    world.executor.kill(process);
    come_back(world, place, dice).await;
}

async fn pause(world: &Arc<World>, place: usize, duration: Duration) {
    let Some(process) = world.door.at(place).map(|replica| replica.process) else {
        return;
    };
    note(world, Fault::Paused(process));
    world.executor.pause(process);
    world.executor.sleep(duration).await;
    resume(world, process);
}

fn resume(world: &Arc<World>, process: Process) {
    note(world, Fault::Resumed(process));
    world.executor.resume(process);
}

fn note(world: &Arc<World>, fault: Fault) {
    world.history.note(Fact::Fault(fault));
}
