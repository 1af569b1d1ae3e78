//! The executor: one thread, virtual time, and a seeded choice of who goes next.
//!
//! Tasks belong to a *process*. A process can be paused, so that its tasks are not polled while time and everyone
//! else go on, and killed, so that all its tasks are dropped at whatever await they had reached. When no one can go
//! on, time jumps to the next timer. Which task goes next depends on the seed and on nothing else: not on the order of
//! wakes, not on addresses, not on the host's clock.

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

/// A process. Each start of a replica is another one; the world around them is number zero.
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

/// Why [`Executor::run`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The task that was run has ended.
    Done,
    /// It has not ended within this many polls.
    TooManySteps,
    /// No one can ever go on.
    Stuck,
}

impl Executor {
    /// An executor at time zero, whose choices `dice` decides.
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

    /// Starts a task of a process. One of a dead process never runs.
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

    /// Ends after `duration` of virtual time.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(self.clone(), duration)
    }

    /// Stops polling the tasks of a process.
    pub fn pause(&self, process: Process) {
        self.lock().paused.insert(process);
    }

    /// Polls them again.
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
        // Outside the lock: what is dropped may wake others or take back its timers.
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

    /// Drops everything that still runs, so that nothing keeps anything else alive.
    pub fn clear(&self) {
        loop {
            let tasks = std::mem::take(&mut self.lock().tasks);
            if tasks.is_empty() {
                return;
            }
        }
    }

    /// One of the tasks that can go on.
    fn choose(&self) -> Option<(TaskId, Task)> {
        let mut state = self.lock();
        let ready = Arc::clone(&state.ready);
        let mut ready = ready.lock();
        // Woken after their end, or with their process gone.
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

    /// Lets time pass to the next timer; whether there is one.
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

/// Notes that a task can go on. A set: being woken twice is being woken, and the order of wakes decides nothing.
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
    /// Where its tasks run.
    pub executor: Executor,
    /// Whose they are.
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
