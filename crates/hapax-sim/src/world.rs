//! The world of one run: replicas on one store, senders in front of them, destinations behind them.
//!
//! A run has two halves. In the first, messages are lost, destinations fail and [`faults`] happen. In the second there
//! are no more faults, and every promise must be fulfilled.

mod door;
mod replica;
mod sender;
mod settings;
mod sink;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hapax_core::store::{DeadQuery, ReplayMode, ReplayOrder, Replayed};
use hapax_core::{DeliveryState, Operations as _, Store as _};

use crate::clock::SkewedClock;
use crate::executor::{Executor, Process};
use crate::faults;
use crate::history::{Fact, History, Settled};
use crate::mutation::Mutation;
use crate::operator;
use crate::random::Dice;
use crate::store::{Network, Vault};
pub use door::Door;
pub use replica::start;
pub use settings::{IN_ORDER, Settings};
pub use sink::Sinks;

/// How long the second half may last, in virtual time. The longest wait in it is a breaker's: a minute.
const CALM_MAX: Duration = Duration::from_secs(600);
/// How often to check whether anything is left to do.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Dead letters replayed per check.
const REPLAY_MAX: u32 = 100;

/// State shared by the parts of a run.
pub struct World {
    pub executor: Executor,
    pub history: History,
    /// The seed's decisions about this run.
    pub settings: Settings,
    pub network: Network,
    pub vault: Arc<Vault>,
    /// The replicas, as senders reach them.
    pub door: Door,
    pub sinks: Arc<Sinks>,
    /// Senders without their 2xx, and faults that have not ended.
    errands: AtomicUsize,
}

impl World {
    /// The world decided by `dice`.
    pub fn new(executor: Executor, dice: &Dice, mutation: Option<Mutation>) -> Arc<Self> {
        let settings = Settings::draw(dice);
        let history = History::new(executor.clone());
        let network = Network::new(
            executor.clone(),
            history.clone(),
            dice.split(),
            settings.loss_percent,
        );
        let clock = Arc::new(SkewedClock::new(executor.clone(), 0));
        let vault = Vault::new(executor.clone(), clock, history.clone(), mutation);
        let sinks = Sinks::new(
            executor.clone(),
            history.clone(),
            network.clone(),
            dice.split(),
            &settings,
            mutation,
        );
        Arc::new(Self {
            door: Door::new(settings.replicas),
            vault: Arc::new(vault),
            sinks: Arc::new(sinks),
            errands: AtomicUsize::new(0),
            executor,
            history,
            settings,
            network,
        })
    }

    /// Runs both halves to the end.
    pub async fn live(self: Arc<Self>, dice: Dice) {
        self.history.note(Fact::LeasesLast(self.settings.lease));
        for place in 0..self.settings.replicas {
            replica::start(&self, place, dice.split());
        }
        sender::send_all(&self, &dice);
        for fault in faults::plan(&self.settings, &dice) {
            let (world, dice) = (Arc::clone(&self), dice.split());
            self.errand(async move { faults::inject(&world, fault, dice).await });
        }
        self.executor.sleep(self.settings.trouble).await;
        self.network.calm_down();
        let settled = self.settle().await;
        self.history.note(Fact::Ended {
            unfinished: self.unfinished().await,
            settled,
        });
    }

    /// Starts a task of the world, which must end before the run may.
    pub(crate) fn errand(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        self.errands.fetch_add(1, Ordering::Relaxed);
        let world = Arc::clone(self);
        self.executor.spawn(Process::WORLD, async move {
            task.await;
            world.errands.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Waits until nothing is left to do, with an operator who resumes paused destinations and replays dead letters.
    async fn settle(&self) -> Settled {
        let until = self.executor.now() + CALM_MAX;
        while self.executor.now() < until {
            operator::resume_all(self).await;
            if self.replay_dead().await == 0
                && self.unfinished().await == 0
                && self.errands.load(Ordering::Relaxed) == 0
            {
                return Settled::Yes;
            }
            self.executor.sleep(LOOK_EVERY).await;
        }
        Settled::No
    }

    async fn replay_dead(&self) -> usize {
        let dead = DeadQuery {
            state: DeliveryState::Dead,
            destination: None,
        };
        let page = self.vault.model.deliveries(&dead, None, REPLAY_MAX).await;
        let dead = page.map(|(dead, _)| dead).unwrap_or_default();
        for delivery in &dead {
            let order = ReplayOrder {
                event: delivery.event,
                mode: ReplayMode::Failed,
                to: None,
                job: None,
            };
            // Refused while another delivery of the event is unfinished; the next check tries again.
            let replayed = self.vault.replay(vec![order]).await.unwrap_or_default();
            if matches!(replayed[..], [Replayed::Again { .. }]) {
                self.history.note(Fact::Replayed(delivery.event));
            }
        }
        dead.len()
    }

    /// Unfinished bulk replays.
    async fn jobs(&self) -> u64 {
        let jobs = self.vault.model.unfinished_replays().await.unwrap_or_default();
        jobs.len() as u64
    }

    /// Deliveries that are neither done nor dead, and unfinished bulk replays.
    async fn unfinished(&self) -> u64 {
        let counts = self.vault.model.counts().await.unwrap_or_default();
        let unfinished = counts.backlog.iter().filter(|row| row.state.is_unfinished());
        unfinished.map(|row| row.count).sum::<u64>() + self.jobs().await
    }
}
