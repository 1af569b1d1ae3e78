//! The bounded queues in front of the threads: full means refused at once, never waiting, never
//! unbounded memory.

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
    /// The word was read: what a late sender still put in is not done.
    closed: Cell<bool>,
}

/// What lies in the queue: a call, or the word that no more will come.
#[derive(Debug)]
enum Entry<T> {
    Call { call: T, bytes: usize },
    Close,
}

/// What a receiver found.
#[derive(Debug)]
pub(crate) enum Received<T> {
    /// A call.
    Call(T),
    /// Nothing now.
    Empty,
    /// Nothing ever again.
    Closed,
}

/// A queue for at most `calls_max` calls that carry at most `bytes_max` bytes together.
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
    /// Puts a call in, or says at once that there is no room.
    pub(crate) fn send(&self, call: T, bytes: usize) -> Result<(), Error> {
        let waiting = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // A call larger than the whole limit is let in when it is alone: it could never run else.
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

    /// Says that no more will come; waits for room if it must. What is in the queue is still done.
    pub(crate) fn close(&self) {
        match self.channel.send(Entry::Close) {
            // A queue whose thread has ended is closed already.
            Ok(()) | Err(SendError(_)) => {}
        }
    }
}

impl<T> Queue<T> {
    /// The next call, waiting for it.
    pub(crate) fn wait(&self) -> Received<T> {
        if self.closed.get() {
            return Received::Closed;
        }
        match self.channel.recv() {
            Ok(entry) => self.open(entry),
            Err(RecvError) => Received::Closed,
        }
    }

    /// The next call, if one is there.
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

/// The answer of a store that was closed.
pub(crate) fn closed() -> Error {
    Error::Unavailable {
        message: "the store is closed".to_owned(),
        source: None,
    }
}
