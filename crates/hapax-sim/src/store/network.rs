//! The network: how long a message takes, whether it arrives, and whether its answer does.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::executor::{Executor, Process, Sleep};
use crate::history::{Fact, Fault, History};
use crate::random::Dice;

/// The longest that a message travels.
const DELAY_MAX: Duration = Duration::from_millis(30);
/// After this long, a caller stops waiting for an answer.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(1);

/// The fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, and so does its answer.
    Arrives,
    Lost,
    /// It arrives, but its answer does not.
    Unanswered,
    /// It arrives twice; the second answer is returned.
    Twice,
}

/// The network. Clones share it.
#[derive(Clone)]
pub struct Network(Arc<Inner>);

struct Inner {
    executor: Executor,
    history: History,
    dice: Dice,
    loss_percent: u64,
    calm: AtomicBool,
    store_down: AtomicBool,
    cut_off: Mutex<BTreeSet<Process>>,
    epoch: AtomicU64,
}

impl Network {
    /// A network that loses this percentage of messages.
    pub fn new(executor: Executor, history: History, dice: Dice, loss_percent: u64) -> Self {
        Self(Arc::new(Inner {
            executor,
            history,
            dice,
            loss_percent,
            calm: AtomicBool::new(false),
            store_down: AtomicBool::new(false),
            cut_off: Mutex::default(),
            epoch: AtomicU64::new(0),
        }))
    }

    /// From now on nothing is lost, so that everything can finish.
    pub fn calm_down(&self) {
        self.0.calm.store(true, Ordering::Relaxed);
        self.0.history.note(Fact::Calm);
    }

    /// Whether losses have ended.
    pub fn is_calm(&self) -> bool {
        self.0.calm.load(Ordering::Relaxed)
    }

    /// Disconnects the store from every process.
    pub fn take_store_down(&self) {
        self.0.store_down.store(true, Ordering::Relaxed);
        self.0.history.note(Fact::Fault(Fault::StoreDown));
    }

    /// Reconnects the store; every connection is a new one.
    pub fn bring_store_up(&self) {
        self.0.store_down.store(false, Ordering::Relaxed);
        self.0.epoch.fetch_add(1, Ordering::Relaxed);
        self.0.history.note(Fact::Fault(Fault::StoreUp));
    }

    /// Cuts one process off from the store.
    pub fn cut_off(&self, process: Process) {
        self.0.cut_off.lock().insert(process);
        self.0.history.note(Fact::Fault(Fault::CutOff(process)));
    }

    /// Reconnects it.
    pub fn reconnect(&self, process: Process) {
        self.0.cut_off.lock().remove(&process);
        self.0.epoch.fetch_add(1, Ordering::Relaxed);
        self.0.history.note(Fact::Fault(Fault::Reconnected(process)));
    }

    /// Whether the store is unreachable for a process.
    pub fn is_store_down_for(&self, process: Process) -> bool {
        self.0.store_down.load(Ordering::Relaxed) || self.0.cut_off.lock().contains(&process)
    }

    /// How often the connections to the store were re-established.
    pub fn epoch(&self) -> u64 {
        self.0.epoch.load(Ordering::Relaxed)
    }

    /// Draws the fate of the next message.
    pub fn fate(&self) -> Fate {
        if self.is_calm() || !self.0.dice.chance(self.0.loss_percent) {
            return Fate::Arrives;
        }
        match self.0.dice.index(3) {
            0 => Fate::Lost,
            1 => Fate::Unanswered,
            _ => Fate::Twice,
        }
    }

    /// The travel time of one message.
    pub fn travel(&self) -> Sleep {
        let delay = self.0.dice.time(Duration::from_micros(50), DELAY_MAX);
        self.0.executor.sleep(delay)
    }

    /// The wait for an answer that never comes.
    pub fn silence(&self) -> Sleep {
        self.0.executor.sleep(CALL_TIMEOUT)
    }

    /// Records that a message between a process and the store was lost.
    pub fn note_loss(&self, process: Process) {
        self.0.history.note(Fact::Fault(Fault::MessageLost(process)));
    }
}
