//! The store itself: passes inputs to the threads and answers back, and stops the threads in order.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::store::{
    AcceptRequest, AliveReport, Claim, ConflictRecorded, ConflictingBody, Counts, Cursor, Error, EventPage,
    EventQuery, EventRecord, Forgotten, LeaseBatch, LeaseOrder, LedgerEntry, PurgeOrder, Purged, ReplayOrder,
    Replayed, Report, Rescued, Written,
};
use hapax_core::{EventId, Hold, Identity, Store};
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::checkpoint::Checkpointer;
use crate::failure::Failure;
use crate::lock::Lock;
use crate::open;
use crate::open_error::OpenError;
use crate::queue::{self, Sender, closed};
use crate::reader::{self, Look, ReadDesk};
use crate::writer::{Call, Job, Step, Writer};
use crate::{
    Options, accept, alive, conflicts, counts, extend, finish, forget, get, hasten, lease, list, look_up,
    purge, replay, rescue,
};

/// The cost of a call in the queue in addition to its payload.
const CALL_BYTES: usize = 256;

/// The embedded store: one file, one process.
pub struct SqliteStore {
    writes: Sender<Box<dyn Call>>,
    reads: Sender<Look>,
    epoch: Arc<AtomicU64>,
    purge_scan_max: usize,
    threads: Mutex<Option<Threads>>,
}

/// The threads that [`SqliteStore::close`] stops, in this order; the lock is released last.
struct Threads {
    writer: JoinHandle<Option<Connection>>,
    readers: Vec<JoinHandle<()>>,
    checkpointer: Checkpointer,
    _lock: Lock,
}

impl SqliteStore {
    /// Opens the file at `path`, or creates it. Every lease of an earlier process becomes void.
    ///
    /// # Errors
    /// Another process has the file open, the file is damaged or not a Hapax database, or it cannot be written. The
    /// file is then unchanged.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let opened = open::open(path, &options)?;
        let (writes, write_queue) = queue::bounded(options.queue_calls_max, options.queue_bytes_max);
        let (reads, read_queue) = queue::bounded(options.read_queue_calls_max, usize::MAX);
        let epoch = Arc::new(AtomicU64::new(0));
        let io = |error: std::io::Error| OpenError::Io {
            source: Box::new(error),
        };
        let checkpointer = Checkpointer::start(path.to_owned(), &opened.log).map_err(io)?;
        let keys = opened.state.recent.keys();
        let readers =
            reader::start(path, options.readers, options.list_scan_max, &keys, read_queue).map_err(io)?;
        let purge_scan_max = options.purge_scan_max;
        let service = Writer {
            path: path.to_owned(),
            options,
            queue: write_queue,
            state: opened.state,
            log: opened.log,
            epoch: Arc::clone(&epoch),
        };
        let connection = opened.connection;
        let thread = thread::Builder::new()
            .name("sqlite-write".to_owned())
            .spawn(move || service.run(connection))
            .map_err(io)?;
        Ok(Self {
            writes,
            reads,
            epoch,
            purge_scan_max,
            threads: Mutex::new(Some(Threads {
                writer: thread,
                readers,
                checkpointer,
                _lock: opened.lock,
            })),
        })
    }

    /// Runs the queued calls, empties the log into the file, and releases the file. Later calls are refused.
    pub async fn close(&self) {
        let threads = self.take_threads();
        if let Some(threads) = threads {
            self.writes.close();
            self.reads.close();
            if tokio::task::spawn_blocking(move || threads.end()).await.is_err() {
                tracing::error!("closing the store panicked");
            }
        }
    }

    /// Runs a step on the writer's thread.
    pub(crate) async fn write<I: Send + 'static, O: Send + 'static>(
        &self,
        input: I,
        items: usize,
        bytes: usize,
        step: Step<I, O>,
    ) -> Result<O, Error> {
        let (job, answer) = Job::new(input, items, step);
        self.writes.send(Box::new(job), bytes + CALL_BYTES)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Runs a step on a reader's thread.
    pub(crate) async fn read<O: Send + 'static>(
        &self,
        step: impl FnOnce(&mut ReadDesk) -> Result<O, Failure> + Send + 'static,
    ) -> Result<O, Error> {
        let (look, answer) = reader::look(step);
        self.reads.send(look, 0)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    fn take_threads(&self) -> Option<Threads> {
        self.threads.lock().take()
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some(threads) = self.take_threads() {
            self.writes.close();
            self.reads.close();
            threads.end();
        }
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}

impl Threads {
    /// Joins every thread. The writer's connection is the last to close, which empties the log.
    fn end(self) {
        let connection = self.writer.join();
        for reader in self.readers {
            if reader.join().is_err() {
                tracing::error!("a reader panicked");
            }
        }
        self.checkpointer.stop();
        match connection {
            Ok(Some(connection)) => {
                if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
                    tracing::warn!(%error, "the write-ahead log could not be emptied; the next start will do it");
                }
            }
            Ok(None) => {}
            Err(_) => tracing::error!("the writer panicked"),
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn accept(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        let asked = requests.len();
        let events = requests.iter().flat_map(|request| &request.events);
        let (items, bytes) = events.fold((0, 0), |(items, bytes), event| {
            let payload = event.body.len() + event.headers.as_bytes().len() + event.identity.event_id.len();
            (items + 1, bytes + payload + CALL_BYTES)
        });
        let answers = self
            .write(requests, items, bytes, |desk, requests| {
                accept::accept(desk, requests)
            })
            .await;
        answers.unwrap_or_else(|error| for_each(asked, error))
    }

    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>> {
        let asked = other_bodies.len();
        let bytes = other_bodies
            .iter()
            .map(|other_body| other_body.body.len() + other_body.headers.as_bytes().len() + CALL_BYTES)
            .sum();
        let answers = self
            .write(other_bodies, asked, bytes, |desk, other_bodies| {
                conflicts::record_conflicts(desk, other_bodies)
            })
            .await;
        answers.unwrap_or_else(|error| for_each(asked, error))
    }

    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error> {
        let items = order.limit as usize;
        self.write(order, items, 0, lease::lease).await
    }

    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        let items = holds.len();
        self.write((holds, lease_for), items, items * CALL_BYTES, extend::extend)
            .await
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<Written>, Error> {
        let items = reports.len();
        let bytes = reports
            .iter()
            .filter_map(|report| report.attempt.as_ref())
            .map(|attempt| attempt.excerpt.len() + CALL_BYTES)
            .sum();
        self.write(reports, items, bytes, |desk, reports| {
            finish::finish(desk, reports)
        })
        .await
    }

    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error> {
        self.write(limit, 1, 0, |desk, limit| rescue::rescue(desk, *limit))
            .await
    }

    async fn report_alive(&self, report: AliveReport) -> Result<Vec<Rescued>, Error> {
        self.write(report, 1, 0, |desk, report| alive::report(desk, *report))
            .await
    }

    async fn hasten(&self, event: EventId) -> Result<u32, Error> {
        self.write(event, 1, 0, |desk, event| hasten::hasten(desk, *event))
            .await
    }

    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error> {
        let items = orders.len();
        self.write(orders, items, items * CALL_BYTES, |desk, orders| {
            replay::replay(desk, orders)
        })
        .await
    }

    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error> {
        self.write(identity.clone(), 1, 0, forget::forget).await
    }

    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error> {
        let identity = identity.clone();
        self.read(move |desk| look_up::look_up(desk, &identity)).await
    }

    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error> {
        self.read(move |desk| get::get(desk, id)).await
    }

    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error> {
        let query = query.clone();
        self.read(move |desk| list::list(desk, &query, after, limit))
            .await
    }

    async fn counts(&self) -> Result<Counts, Error> {
        self.read(counts::counts).await
    }

    async fn purge(&self, order: PurgeOrder) -> Result<Purged, Error> {
        let limit = u64::from(order.limit);
        let mut scan = self.purge_scan_max;
        let order = Arc::new(order);
        let mut sum = Purged::default();
        while sum.events < limit && sum.ledger < limit && scan > 0 {
            let chunk = purge::Chunk {
                order: Arc::clone(&order),
                events: limit - sum.events,
                ledger: limit - sum.ledger,
                scan,
            };
            let done = self.write(chunk, purge::CHUNK_ITEMS, 0, purge::purge).await?;
            sum.events += done.purged.events;
            sum.ledger += done.purged.ledger;
            sum.more = done.purged.more;
            if !sum.more {
                break;
            }
            scan = scan.saturating_sub(done.scanned.max(1));
        }
        Ok(sum)
    }

    fn connection_epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }
}

/// The same error for each of `asked` items.
fn for_each<T>(asked: usize, error: Error) -> Vec<Result<T, Error>> {
    let mut answers: Vec<_> = (1..asked).map(|_| Err(again(&error))).collect();
    if asked > 0 {
        answers.push(Err(error));
    }
    answers
}

/// A copy of the error for another caller.
fn again(error: &Error) -> Error {
    match error {
        Error::Unavailable { message, .. } => Error::Unavailable {
            message: message.clone(),
            source: None,
        },
        Error::Overloaded => Error::Overloaded,
        Error::Damaged { message, .. } => Error::Damaged {
            message: message.clone(),
            source: None,
        },
        Error::Unsupported { message } => Error::Unsupported {
            message: message.clone(),
        },
        Error::Rejected { message } => Error::Rejected {
            message: message.clone(),
        },
    }
}
