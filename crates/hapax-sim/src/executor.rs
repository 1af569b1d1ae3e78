//! The executor: one thread, virtual time, and a seeded choice of the next task.
//!
//! Tasks belong to a *process*. A process can be paused, so that its tasks are not polled while time and all other
//! tasks continue, or killed, so that all its tasks are dropped at their current await. When no task can run, time
//! jumps to the next timer. The next task depends only on the seed: not on the order of wakes, on addresses or on the
//! host's clock.

mod sleep;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use hapax_engine::{BoxFuture, Runtime};
use parking_lot::{Mutex, MutexGuard};

use crate::random::Dice;
pub use sleep::Sleep;

/// A process. Each start of a replica is a new one; the world around them is number zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process(pub u32);

impl Process {
    /// Senders, destinations, the network and the faults: never paused, never killed.
    pub const WORLD: Self = Self(0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TaskId(u64);

/// Runs tasks. Clones share them.
#[derive(Clone)]
pub struct Executor(Arc<Mutex<State>>);

struct State {
    now: Duration,
    last_number: u64,
    tasks: BTreeMap<TaskId, Task>,
    timers: BTreeMap<(Duration, u64), Waker>,
    paused: BTreeSet<Process>,
    dead: BTreeSet<Process>,
    ready: Arc<Mutex<BTreeSet<TaskId>>>,
    dice: Dice,
}

struct Task {
    process: Process,
    future: BoxFuture,
}

/// Why [`Executor::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The main task has ended.
    Done,
    /// The main task has not ended within this many polls.
    TooManySteps,
    /// No task can ever run again.
    Stuck,
}

impl Executor {
    /// An executor at time zero, with choices decided by `dice`.
    pub fn new(dice: Dice) -> Self {
        Self(Arc::new(Mutex::new(State {
            now: Duration::ZERO,
            last_number: 0,
            tasks: BTreeMap::new(),
            timers: BTreeMap::new(),
            paused: BTreeSet::new(),
            dead: BTreeSet::new(),
            ready: Arc::default(),
            dice,
        })))
    }

    /// Virtual time since the start.
    pub fn now(&self) -> Duration {
        self.lock().now
    }

    /// Starts a task of a process. A task of a dead process never runs.
    pub fn spawn(&self, process: Process, future: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.lock();
        if state.dead.contains(&process) {
            drop(state);
            return;
        }
        let id = TaskId(state.next_number());
        let future = Box::pin(future);
        state.tasks.insert(id, Task { process, future });
        state.ready.lock().insert(id);
    }

    /// Completes after `duration` of virtual time.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(self.clone(), duration)
    }

    /// Stops polling the tasks of a process.
    pub fn pause(&self, process: Process) {
        self.lock().paused.insert(process);
    }

    pub fn resume(&self, process: Process) {
        self.lock().paused.remove(&process);
    }

    /// Drops every task of a process, wherever it is.
    pub fn kill(&self, process: Process) {
        let mut state = self.lock();
        state.dead.insert(process);
        let (gone, rest) = std::mem::take(&mut state.tasks)
            .into_iter()
            .partition(|(_, task)| task.process == process);
        state.tasks = rest;
        drop(state);
        // Outside the lock: dropped tasks may wake others or cancel their timers.
        drop::<BTreeMap<TaskId, Task>>(gone);
    }

    /// Runs until `main`, a task of the world, has ended.
    pub fn run(&self, main: impl Future<Output = ()> + Send + 'static, steps_max: u64) -> Stop {
        let done = Arc::new(Mutex::new(false));
        let ended = Arc::clone(&done);
        self.spawn(Process::WORLD, async move {
            main.await;
            *ended.lock() = true;
        });
        for _ in 0..steps_max {
            if *done.lock() {
                return Stop::Done;
            }
            match self.choose() {
                Some((id, task)) => self.poll(id, task),
                None if self.advance() => {}
                None => return Stop::Stuck,
            }
        }
        Stop::TooManySteps
    }

    /// Drops everything still running, so that no reference cycle keeps it alive.
    pub fn clear(&self) {
        loop {
            let tasks = std::mem::take(&mut self.lock().tasks);
            if tasks.is_empty() {
                return;
            }
        }
    }

    /// Picks one of the tasks that can run.
    fn choose(&self) -> Option<(TaskId, Task)> {
        let mut state = self.lock();
        let ready = Arc::clone(&state.ready);
        let mut ready = ready.lock();
        // Woken after they ended, or after their process was killed.
        ready.retain(|id| state.tasks.contains_key(id));
        let able: Vec<TaskId> = ready.iter().filter(|id| state.is_able(**id)).copied().collect();
        if able.is_empty() {
            return None;
        }
        let id = able[state.dice.index(able.len())];
        ready.remove(&id);
        state.tasks.remove(&id).map(|task| (id, task))
    }

    fn poll(&self, id: TaskId, mut task: Task) {
        let ready = Arc::clone(&self.lock().ready);
        let waker = Waker::from(Arc::new(Wakes { id, ready }));
        match Pin::new(&mut task.future).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(()) => {}
            Poll::Pending => {
                let mut state = self.lock();
                if !state.dead.contains(&task.process) {
                    state.tasks.insert(id, task);
                }
            }
        }
    }

    /// Advances time to the next timer. Returns whether there is one.
    fn advance(&self) -> bool {
        let mut state = self.lock();
        let Some(((at, _), waker)) = state.timers.pop_first() else {
            return false;
        };
        state.now = state.now.max(at);
        drop(state);
        waker.wake();
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn is_able(&self, id: TaskId) -> bool {
        let task = self.tasks.get(&id);
        task.is_some_and(|task| !self.paused.contains(&task.process))
    }
}

/// Records that a task can run. A set, so that duplicate wakes and the order of wakes decide nothing.
struct Wakes {
    id: TaskId,
    ready: Arc<Mutex<BTreeSet<TaskId>>>,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.ready.lock().insert(self.id);
    }
}

/// The executor as the engine of one process sees it.
pub struct ProcessRuntime {
    pub executor: Executor,
    pub process: Process,
}

impl Runtime for ProcessRuntime {
    fn spawn(&self, task: BoxFuture) {
        self.executor.spawn(self.process, task);
    }

    fn sleep(&self, duration: Duration) -> BoxFuture {
        Box::pin(self.executor.sleep(duration))
    }
}

#[cfg(test)]
mod tests;
