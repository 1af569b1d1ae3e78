//! The world of one run: replicas on one store, senders in front of them, destinations behind them.

mod door;
mod replica;
mod sender;
mod settings;
mod sink;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::clock::SkewedClock;
use crate::executor::{Executor, Process};
use crate::history::History;
use crate::mutation::Mutation;
use crate::random::Dice;
use crate::store::{Network, Vault};
pub use door::Door;
pub use replica::start;
pub(crate) use sender::send_all;
pub use settings::{IN_ORDER, Settings};
pub use sink::Sinks;

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

    /// Starts a task of the world, which must end before the run may.
    pub(crate) fn errand(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        self.errands.fetch_add(1, Ordering::Relaxed);
        let world = Arc::clone(self);
        self.executor.spawn(Process::WORLD, async move {
            task.await;
            world.errands.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Whether a sender has no 2xx yet, or a fault has not ended.
    pub(crate) fn has_errands(&self) -> bool {
        self.errands.load(Ordering::Relaxed) > 0
    }
}
