//! The bounded queues in front of the threads. A full queue refuses a call at once: no waiting, no unbounded memory.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvError, SendError, SyncSender, TryRecvError, TrySendError, sync_channel};

use hapax_core::store::Error;

/// The sending end.
#[derive(Debug)]
pub(crate) struct Sender<T> {
    channel: SyncSender<Entry<T>>,
    bytes: Arc<AtomicUsize>,
    bytes_max: usize,
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    channel: Receiver<Entry<T>>,
    bytes: Arc<AtomicUsize>,
    /// Set once the closing message is read: calls that a late sender still queued are not run.
    closed: Cell<bool>,
}

/// A message in the queue: a call, or the notice that no more will come.
#[derive(Debug)]
enum Entry<T> {
    Call { call: T, bytes: usize },
    Close,
}

/// The result of receiving.
#[derive(Debug)]
pub(crate) enum Received<T> {
    Call(T),
    /// No call right now.
    Empty,
    /// No call will ever come again.
    Closed,
}

/// A queue for at most `calls_max` calls that together carry at most `bytes_max` bytes.
pub(crate) fn bounded<T>(calls_max: usize, bytes_max: usize) -> (Sender<T>, Queue<T>) {
    let (sender, receiver) = sync_channel(calls_max.max(1));
    let bytes = Arc::new(AtomicUsize::new(0));
    let queue = Queue {
        channel: receiver,
        bytes: Arc::clone(&bytes),
        closed: Cell::new(false),
    };
    let sender = Sender {
        channel: sender,
        bytes,
        bytes_max,
    };
    (sender, queue)
}

impl<T> Sender<T> {
    /// Queues a call, or fails at once if there is no room.
    pub(crate) fn send(&self, call: T, bytes: usize) -> Result<(), Error> {
        let waiting = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // A call larger than the whole limit is admitted when it is alone; otherwise it could never run.
        if waiting > 0 && waiting + bytes > self.bytes_max {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Error::Overloaded);
        }
        self.channel
            .try_send(Entry::Call { call, bytes })
            .map_err(|refused| {
                self.bytes.fetch_sub(bytes, Ordering::Relaxed);
                match refused {
                    TrySendError::Full(_) => Error::Overloaded,
                    TrySendError::Disconnected(_) => closed(),
                }
            })
    }

    /// Announces that no more calls will come, waiting for room if necessary. Calls already in the queue still run.
    pub(crate) fn close(&self) {
        match self.channel.send(Entry::Close) {
            // A queue whose thread has ended is closed already.
            Ok(()) | Err(SendError(_)) => {}
        }
    }
}

impl<T> Queue<T> {
    /// Waits for the next call.
    pub(crate) fn wait(&self) -> Received<T> {
        if self.closed.get() {
            return Received::Closed;
        }
        match self.channel.recv() {
            Ok(entry) => self.open(entry),
            Err(RecvError) => Received::Closed,
        }
    }

    /// The next call, if there is one.
    pub(crate) fn poll(&self) -> Received<T> {
        match self.channel.try_recv() {
            Ok(entry) => self.open(entry),
            Err(TryRecvError::Empty) => Received::Empty,
            Err(TryRecvError::Disconnected) => Received::Closed,
        }
    }

    fn open(&self, entry: Entry<T>) -> Received<T> {
        match entry {
            Entry::Call { call, bytes } => {
                self.bytes.fetch_sub(bytes, Ordering::Relaxed);
                Received::Call(call)
            }
            Entry::Close => {
                self.closed.set(true);
                Received::Closed
            }
        }
    }
}

/// The error of a closed store.
pub(crate) fn closed() -> Error {
    Error::Unavailable {
        message: "the store is closed".to_owned(),
        source: None,
    }
}
