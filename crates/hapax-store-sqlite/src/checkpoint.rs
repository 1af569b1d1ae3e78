//! Emptying the write-ahead log beside the writer.
//!
//! A thread of its own copies the log into the file. While the writer goes on, such a pass never
//! reaches the log's end, so the log would grow for ever and every look-up with it. When it is
//! longer than its limit, the writer itself, between two transactions and right after a pass,
//! copies what is left: the log then starts again at its beginning, in the file it has already.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use rusqlite::Connection;

use crate::connection::{self, PAGE_BYTES};

/// The longest pause between two passes.
const PASS_EVERY: Duration = Duration::from_millis(500);
/// Pages not yet copied that wake the checkpointer before its pause is over.
const PASS_PAGES: u64 = 16_384;
/// What is left after a pass that the writer takes over gladly.
const TAIL_PAGES: u64 = 2_048;
/// Passes over a log beyond its limit, after which the writer takes over whatever is left.
const PASSES_BEFORE_HELP: u32 = 2;

/// What writer and checkpointer know of the log together.
#[derive(Debug)]
pub(crate) struct Log {
    /// Its length after the last commit.
    pages: Arc<AtomicU64>,
    /// How much of it is in the file.
    copied: AtomicU64,
    /// The checkpointer asks the writer to copy the rest.
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

    /// Where the writer's connection notes the log's length.
    pub(crate) fn pages_handle(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.pages)
    }

    /// The writer's part, between two transactions; whether it had to help.
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
            // The next pass tries again; a file that cannot be written fails the writer's commits too.
            Err(error) => tracing::warn!(%error, "the write-ahead log could not be copied into the file"),
        }
    }

    /// Pages that a pass would copy now. A log that started again is shorter than what was copied.
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
    /// Starts it.
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

    /// Ends it after its pass.
    pub(crate) fn stop(self) {
        self.log.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        if self.thread.join().is_err() {
            tracing::error!("the checkpointer had panicked");
        }
    }
}

/// Copies as much of the log as can be copied without waiting for anyone; how much is copied in all.
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
