//! The course of a run. In its first half, messages are lost, destinations fail and [`faults`] happen. In the second
//! there are no more faults, and every promise must be fulfilled.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{DeadQuery, ReplayMode, ReplayOrder, Replayed};
use hapax_core::{DeliveryState, Operations as _, Store as _};

use crate::faults;
use crate::history::{Fact, Settled};
use crate::operator;
use crate::random::Dice;
use crate::world::{self, World};

/// How long the second half may last, in virtual time. The longest wait in it is a breaker's: a minute.
const CALM_MAX: Duration = Duration::from_secs(600);
/// How often to check whether anything is left to do.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Dead letters replayed per check.
const REPLAY_MAX: u32 = 100;

/// Runs both halves to the end.
pub(crate) async fn live(world: Arc<World>, dice: Dice) {
    world.history.note(Fact::LeasesLast(world.settings.lease));
    for place in 0..world.settings.replicas {
        world::start(&world, place, dice.split());
    }
    world::send_all(&world, &dice);
    for fault in faults::plan(&world.settings, &dice) {
        world.errand({
            let (world, dice) = (Arc::clone(&world), dice.split());
            async move { faults::inject(&world, fault, dice).await }
        });
    }
    world.executor.sleep(world.settings.trouble).await;
    world.network.calm_down();
    let settled = settle(&world).await;
    world.history.note(Fact::Ended {
        unfinished: unfinished(&world).await,
        settled,
    });
}

/// Waits until nothing is left to do, with an operator who resumes paused destinations and replays dead letters.
async fn settle(world: &World) -> Settled {
    let until = world.executor.now() + CALM_MAX;
    while world.executor.now() < until {
        operator::resume_all(world).await;
        if replay_dead(world).await == 0 && unfinished(world).await == 0 && !world.has_errands() {
            return Settled::Yes;
        }
        world.executor.sleep(LOOK_EVERY).await;
    }
    Settled::No
}

async fn replay_dead(world: &World) -> usize {
    let dead = DeadQuery {
        state: DeliveryState::Dead,
        destination: None,
    };
    let page = world.vault.model.deliveries(&dead, None, REPLAY_MAX).await;
    let dead = page.map(|(dead, _)| dead).unwrap_or_default();
    for delivery in &dead {
        let order = ReplayOrder {
            event: delivery.event,
            mode: ReplayMode::Failed,
            to: None,
            job: None,
        };
        // Refused while another delivery of the event is unfinished; the next check tries again.
        let replayed = world.vault.replay(vec![order]).await.unwrap_or_default();
        if matches!(replayed[..], [Replayed::Again { .. }]) {
            world.history.note(Fact::Replayed(delivery.event));
        }
    }
    dead.len()
}

/// Unfinished bulk replays.
async fn jobs(world: &World) -> u64 {
    let jobs = world.vault.model.unfinished_replays().await.unwrap_or_default();
    jobs.len() as u64
}

/// Deliveries that are neither done nor dead, and unfinished bulk replays.
async fn unfinished(world: &World) -> u64 {
    let counts = world.vault.model.counts().await.unwrap_or_default();
    let unfinished = counts.backlog.iter().filter(|row| row.state.is_unfinished());
    unfinished.map(|row| row.count).sum::<u64>() + jobs(world).await
}
