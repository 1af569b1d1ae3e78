//! The network: how long a message takes, whether it arrives, and whether its answer does.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::executor::{Executor, Process, Sleep};
use crate::history::{Fact, Fault, History};
use crate::random::Dice;

/// The longest a message travels.
const DELAY_MAX: Duration = Duration::from_millis(30);
/// After this long a caller gives up on an answer.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(1);

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives, and its answer does.
    Arrives,
    /// It does not arrive.
    Lost,
    /// It arrives; its answer does not.
    Unanswered,
    /// It arrives twice; the second answer is the one that comes back.
    Twice,
}

/// The network. Clones are the same one.
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
    /// A network that loses this many messages in a hundred.
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

    /// From now on nothing is lost, so that everything can come to its end.
    pub fn calm_down(&self) {
        self.0.calm.store(true, Ordering::Relaxed);
        self.0.history.note(Fact::Calm);
    }

    /// Whether nothing is lost any more.
    pub fn is_calm(&self) -> bool {
        self.0.calm.load(Ordering::Relaxed)
    }

    /// Cuts the store off from everyone.
    pub fn take_store_down(&self) {
        self.0.store_down.store(true, Ordering::Relaxed);
        self.0.history.note(Fact::Fault(Fault::StoreDown));
    }

    /// Connects it again: every connection is a new one.
    pub fn bring_store_up(&self) {
        self.0.store_down.store(false, Ordering::Relaxed);
        self.0.epoch.fetch_add(1, Ordering::Relaxed);
        self.0.history.note(Fact::Fault(Fault::StoreUp));
    }

    /// Cuts the store off from one process.
    pub fn cut_off(&self, process: Process) {
        self.0.cut_off.lock().insert(process);
        self.0.history.note(Fact::Fault(Fault::CutOff(process)));
    }

    /// Connects them again.
    pub fn reconnect(&self, process: Process) {
        self.0.cut_off.lock().remove(&process);
        self.0.epoch.fetch_add(1, Ordering::Relaxed);
        self.0.history.note(Fact::Fault(Fault::Reconnected(process)));
    }

    /// Whether the store is cut off from a process.
    pub fn is_store_down_for(&self, process: Process) -> bool {
        self.0.store_down.load(Ordering::Relaxed) || self.0.cut_off.lock().contains(&process)
    }

    /// How often the connections to the store were made again.
    pub fn epoch(&self) -> u64 {
        self.0.epoch.load(Ordering::Relaxed)
    }

    /// What becomes of the next message.
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

    /// The way of one message.
    pub fn travel(&self) -> Sleep {
        let delay = self.0.dice.time(Duration::from_micros(50), DELAY_MAX);
        self.0.executor.sleep(delay)
    }

    /// Nothing comes back until the caller gives up.
    pub fn silence(&self) -> Sleep {
        self.0.executor.sleep(CALL_TIMEOUT)
    }

    /// Notes that a message between a process and the store was lost.
    pub fn note_loss(&self, process: Process) {
        self.0.history.note(Fact::Fault(Fault::MessageLost(process)));
    }
}
