//! The world of one run: replicas on one store, senders in front of them, destinations behind them.
//!
//! A run has two halves. In the first, messages are lost, destinations fail and [`faults`] happen. In
//! the second nothing is broken any more, and everything that was promised must come about.

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

/// How long the second half may last, in virtual time. The longest wait in it is that of a breaker: a minute.
const CALM_MAX: Duration = Duration::from_secs(600);
/// How often to look whether anything is left to do.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Dead letters replayed at one look.
const REPLAY_MAX: u32 = 100;

/// Everything that the parts of a run share.
pub struct World {
    /// Time and tasks.
    pub executor: Executor,
    /// What happened.
    pub history: History,
    /// What the seed decided about this run.
    pub settings: Settings,
    /// Between everyone and everyone.
    pub network: Network,
    /// The store.
    pub vault: Arc<Vault>,
    /// The replicas, as senders reach them.
    pub door: Door,
    /// The destinations.
    pub sinks: Arc<Sinks>,
    /// Senders without their 2xx, and faults that are not over.
    errands: AtomicUsize,
}

impl World {
    /// The world that `dice` decides.
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

    /// Both halves, to the end.
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

    /// Starts a task of the world, which must have ended before the run may.
    pub(crate) fn errand(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        self.errands.fetch_add(1, Ordering::Relaxed);
        let world = Arc::clone(self);
        self.executor.spawn(Process::WORLD, async move {
            task.await;
            world.errands.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Waits until nothing is left to do, with an operator who resumes what is paused and replays what is dead.
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
            // Refused while another delivery of the event is unfinished: the next look tries again.
            let replayed = self.vault.replay(vec![order]).await.unwrap_or_default();
            if matches!(replayed[..], [Replayed::Again { .. }]) {
                self.history.note(Fact::Replayed(delivery.event));
            }
        }
        dead.len()
    }

    /// Bulk replays that are not over.
    async fn jobs(&self) -> u64 {
        let jobs = self.vault.model.unfinished_replays().await.unwrap_or_default();
        jobs.len() as u64
    }

    /// Deliveries that are neither done nor dead, and bulk replays that are not over.
    async fn unfinished(&self) -> u64 {
        let counts = self.vault.model.counts().await.unwrap_or_default();
        let unfinished = counts.backlog.iter().filter(|row| row.state.is_unfinished());
        unfinished.map(|row| row.count).sum::<u64>() + self.jobs().await
    }
}
