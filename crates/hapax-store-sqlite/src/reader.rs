//! The readers: threads that read alongside the writer, each on its own connection. Every read is one short
//! transaction, so that it sees a consistent snapshot and does not keep the log from starting again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use hapax_core::store::Error;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connection;
use crate::failure::{Failure, Reach};
use crate::names::Names;
use crate::queue::{Queue, Received};
use crate::recent::Keys;

/// A reader's connection with its cached names.
pub(crate) struct ReadDesk {
    pub(crate) connection: Connection,
    pub(crate) names: Names,
    pub(crate) path: PathBuf,
    pub(crate) list_scan_max: usize,
    /// Keys of the newest ledger entries.
    pub(crate) keys: Arc<Mutex<Keys>>,
    /// The number of their commits when the snapshot began.
    pub(crate) keys_since: u64,
}

/// A call that waits for a reader. Returns whether the connection is still usable.
pub(crate) type Look = Box<dyn FnOnce(Result<&mut ReadDesk, &Failure>) -> Health + Send>;

/// Whether a connection is still usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Good,
    Lost,
}

/// Wraps a step that reads: its snapshot, its answer, its failure.
pub(crate) fn look<O: Send + 'static>(
    step: impl FnOnce(&mut ReadDesk) -> Result<O, Failure> + Send + 'static,
) -> (Look, oneshot::Receiver<Result<O, Error>>) {
    let (reply, receiver) = oneshot::channel();
    let look: Look = Box::new(move |desk| {
        let (answer, health) = match desk {
            Ok(desk) => {
                let answer = in_snapshot(desk, step);
                // A snapshot that cannot be ended would keep the log from ever starting again.
                let stuck = !desk.connection.is_autocommit();
                let health = match &answer {
                    Err(failure) if stuck || failure.reach() == Reach::Connection => Health::Lost,
                    Ok(_) | Err(_) => Health::Good,
                };
                (answer.map_err(|failure| failure.to_error()), health)
            }
            Err(failure) => (Err(failure.to_error()), Health::Lost),
        };
        // If the caller dropped its future, nobody is waiting for the answer.
        drop(reply.send(answer));
        health
    });
    (look, receiver)
}

fn in_snapshot<O>(
    desk: &mut ReadDesk,
    step: impl FnOnce(&mut ReadDesk) -> Result<O, Failure>,
) -> Result<O, Failure> {
    desk.keys_since = desk.keys.lock().commits();
    desk.connection.prepare_cached("BEGIN")?.execute([])?;
    let answer = step(desk);
    // A read transaction has nothing to lose: that it ends matters more than how.
    let ended = desk.connection.prepare_cached("ROLLBACK")?.execute([]);
    let answer = answer?;
    ended?;
    Ok(answer)
}

/// Starts `count` readers on one queue.
pub(crate) fn start(
    path: &Path,
    count: usize,
    list_scan_max: usize,
    keys: &Arc<Mutex<Keys>>,
    queue: Queue<Look>,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let queue = Arc::new(Mutex::new(queue));
    (0..count.max(1))
        .map(|_| {
            let queue = Arc::clone(&queue);
            let path = path.to_owned();
            let keys = Arc::clone(keys);
            thread::Builder::new()
                .name("sqlite-read".to_owned())
                .spawn(move || run(&path, list_scan_max, &keys, &queue))
        })
        .collect()
}

fn run(path: &Path, list_scan_max: usize, keys: &Arc<Mutex<Keys>>, queue: &Mutex<Queue<Look>>) {
    let mut desk: Option<ReadDesk> = None;
    loop {
        // Waits while holding the lock: the other readers wait for the lock instead of the queue.
        let received = queue.lock().wait();
        let look = match received {
            Received::Call(look) => look,
            Received::Empty | Received::Closed => return,
        };
        let opened = match desk.take() {
            Some(desk) => Ok(desk),
            None => open(path, list_scan_max, keys),
        };
        match opened {
            Ok(mut open) => match look(Ok(&mut open)) {
                Health::Good => desk = Some(open),
                Health::Lost => {}
            },
            Err(failure) => {
                look(Err(&failure));
            }
        }
    }
}

fn open(path: &Path, list_scan_max: usize, keys: &Arc<Mutex<Keys>>) -> Result<ReadDesk, Failure> {
    Ok(ReadDesk {
        connection: connection::for_reading(path)?,
        names: Names::default(),
        path: path.to_owned(),
        list_scan_max,
        keys: Arc::clone(keys),
        keys_since: 0,
    })
}
