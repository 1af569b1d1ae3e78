//! Checkpointing the write-ahead log alongside the writer.
//!
//! A separate thread copies the log into the file. While the writer is busy, such a pass never reaches the end of the
//! log, so the log would grow forever, and every look-up would slow down with it. When the log exceeds its limit, the
//! writer itself copies the remainder, between two transactions and right after a pass. The log then starts again at
//! its beginning and reuses its file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use rusqlite::Connection;

use crate::connection::{self, PAGE_BYTES};

/// The longest pause between two passes.
const PASS_EVERY: Duration = Duration::from_millis(500);
/// Pages not yet copied that wake the checkpointer before its pause ends.
const PASS_PAGES: u64 = 16_384;
/// The remainder after a pass that the writer is willing to copy itself.
const TAIL_PAGES: u64 = 2_048;
/// Passes over a log beyond its limit, after which the writer copies the remainder, whatever its size.
const PASSES_BEFORE_HELP: u32 = 2;

/// State of the log that the writer and the checkpointer share.
#[derive(Debug)]
pub(crate) struct Log {
    /// Its length after the last commit.
    pages: Arc<AtomicU64>,
    /// Pages of it that are in the file.
    copied: AtomicU64,
    /// Set when the checkpointer asks the writer to copy the rest.
    help: AtomicBool,
    stop: AtomicBool,
    pages_max: u64,
    checkpointer: OnceLock<Thread>,
}

impl Log {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self {
            pages: Arc::new(AtomicU64::new(0)),
            copied: AtomicU64::new(0),
            help: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            pages_max: (bytes_max / PAGE_BYTES).max(1),
            checkpointer: OnceLock::new(),
        }
    }

    /// Where the writer's connection records the log's length.
    pub(crate) fn pages_handle(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.pages)
    }

    /// The writer's part, between two transactions. Returns whether it had to help.
    pub(crate) fn after_commit(&self, connection: &Connection) -> Helped {
        let asked = self.help.load(Ordering::Relaxed) && self.help.swap(false, Ordering::AcqRel);
        if asked {
            self.pass(connection);
        }
        if (asked || self.waiting() >= PASS_PAGES.min(self.pages_max))
            && let Some(checkpointer) = self.checkpointer.get()
        {
            checkpointer.unpark();
        }
        if asked { Helped::Yes } else { Helped::No }
    }

    fn pass(&self, connection: &Connection) {
        match checkpoint(connection) {
            Ok(copied) => self.copied.store(copied, Ordering::Release),
            // The next pass tries again. If the file cannot be written, the writer's commits fail too.
            Err(error) => tracing::warn!(%error, "the write-ahead log could not be copied into the file"),
        }
    }

    /// Pages that a pass would copy now. A log that has started again is shorter than the number of pages copied.
    fn waiting(&self) -> u64 {
        let pages = self.pages.load(Ordering::Acquire);
        let copied = self.copied.load(Ordering::Acquire);
        if pages < copied { pages } else { pages - copied }
    }
}

/// Whether the writer copied the end of the log itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helped {
    Yes,
    No,
}

/// The checkpointer's thread.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    log: Arc<Log>,
    thread: JoinHandle<()>,
}

impl Checkpointer {
    pub(crate) fn start(path: PathBuf, log: &Arc<Log>) -> std::io::Result<Self> {
        let shared = Arc::clone(log);
        let thread = thread::Builder::new()
            .name("sqlite-checkpoint".to_owned())
            .spawn(move || run(&path, &shared))?;
        log.checkpointer.get_or_init(|| thread.thread().clone());
        Ok(Self {
            log: Arc::clone(log),
            thread,
        })
    }

    /// Stops the thread after its current pass.
    pub(crate) fn stop(self) {
        self.log.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        if self.thread.join().is_err() {
            tracing::error!("the checkpointer panicked");
        }
    }
}

/// Copies as much of the log as possible without waiting for any reader or writer. Returns the total number of pages
/// copied.
fn checkpoint(connection: &Connection) -> rusqlite::Result<u64> {
    let copied: i64 = connection
        .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?
        .query_row([], |row| row.get(2))?;
    Ok(u64::try_from(copied).unwrap_or(0))
}

fn run(path: &Path, log: &Log) {
    let mut connection = None;
    let mut long_passes = 0;
    while !log.stop.load(Ordering::Acquire) {
        if log.waiting() == 0 || log.help.load(Ordering::Acquire) {
            thread::park_timeout(PASS_EVERY);
            if log.waiting() == 0 || log.help.load(Ordering::Acquire) {
                continue;
            }
        }
        if connection.is_none() {
            match connection::for_checkpoints(path) {
                Ok(opened) => connection = Some(opened),
                Err(error) => tracing::warn!(%error, "the checkpointer cannot open the database file"),
            }
        }
        if let Some(open) = &connection {
            log.pass(open);
        }
        if log.pages.load(Ordering::Acquire) >= log.pages_max {
            long_passes += 1;
            if log.waiting() <= TAIL_PAGES || long_passes >= PASSES_BEFORE_HELP {
                long_passes = 0;
                log.help.store(true, Ordering::Release);
            }
        } else {
            long_passes = 0;
            thread::park_timeout(PASS_EVERY);
        }
    }
}
