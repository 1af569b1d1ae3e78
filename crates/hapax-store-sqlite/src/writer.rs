//! The writer: one thread that owns the only connection that writes. It takes every waiting call, runs them in one
//! transaction with one fsync, and answers after the commit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hapax_core::store::Error;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::Options;
use crate::checkpoint::{Helped, Log};
use crate::connection;
use crate::desk::{Care, Desk, State};
use crate::failure::{Failure, Reach};
use crate::hot::Hot;
use crate::moment;
use crate::queue::{Queue, Received};

/// A step that writes.
pub(crate) type Step<I, O> = fn(&mut Desk<'_>, &I) -> Result<O, Failure>;

/// A call that waits for the writer. It can be run again after a rollback.
pub(crate) trait Call: Send {
    /// Runs the step and keeps its answer.
    fn run(&mut self, desk: &mut Desk<'_>) -> Result<(), Failure>;

    /// The number of its items, to bound a transaction.
    fn items(&self) -> usize;

    /// Sends the kept answer, or the failure that undid it.
    fn answer(self: Box<Self>, undone: Option<&Failure>);
}

/// A step with its input and the channel on which its caller waits for the answer.
pub(crate) struct Job<I, O> {
    input: I,
    items: usize,
    step: Step<I, O>,
    answer: Option<Result<O, Failure>>,
    reply: oneshot::Sender<Result<O, Error>>,
}

impl<I, O> Job<I, O> {
    pub(crate) fn new(
        input: I,
        items: usize,
        step: Step<I, O>,
    ) -> (Self, oneshot::Receiver<Result<O, Error>>) {
        let (reply, receiver) = oneshot::channel();
        let job = Self {
            input,
            items,
            step,
            answer: None,
            reply,
        };
        (job, receiver)
    }
}

impl<I: Send, O: Send> Call for Job<I, O> {
    fn run(&mut self, desk: &mut Desk<'_>) -> Result<(), Failure> {
        let step = self.step;
        let input = &self.input;
        self.answer = Some(desk.item(|desk| step(desk, input))?);
        Ok(())
    }

    fn items(&self) -> usize {
        self.items
    }

    fn answer(self: Box<Self>, undone: Option<&Failure>) {
        let answer = match (undone, self.answer) {
            (Some(failure), _) => Err(failure.to_error()),
            (None, Some(Err(failure))) => Err(failure.to_error()),
            (None, Some(Ok(output))) => Ok(output),
            (None, None) => Err(crate::queue::closed()),
        };
        // If the caller dropped its future, nobody is waiting for the answer; the step has happened all the same.
        drop(self.reply.send(answer));
    }
}

/// Everything the writer's thread needs.
pub(crate) struct Writer {
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    pub(crate) queue: Queue<Box<dyn Call>>,
    pub(crate) state: State,
    pub(crate) log: Arc<Log>,
    pub(crate) epoch: Arc<AtomicU64>,
}

/// Why a connection's service ended.
enum End {
    Closed,
    ConnectionLost,
}

impl Writer {
    /// Serves until the queue is closed, then returns the connection for the last checkpoint.
    pub(crate) fn run(mut self, first: Connection) -> Option<Connection> {
        let mut current = Some(first);
        loop {
            if let Some(connection) = current.take() {
                match self.serve(&connection) {
                    End::Closed => return Some(connection),
                    End::ConnectionLost => {}
                }
            }
            let batch = take_batch(&self.queue, self.options.batch_items_max)?;
            match self.reopen() {
                Ok(connection) => {
                    self.epoch.fetch_add(1, Ordering::Release);
                    tracing::info!("the database file was reopened");
                    self.commit_on(&connection, batch);
                    current = Some(connection);
                }
                Err(error) => {
                    let failure = Failure::Gone(format!("the database file cannot be reopened: {error}"));
                    answer_all(batch, Some(&failure));
                }
            }
        }
    }

    fn reopen(&mut self) -> rusqlite::Result<Connection> {
        let connection = connection::for_writing(&self.path, &self.options, self.log.pages_handle())?;
        self.state.recent.reload(&connection)?;
        Ok(connection)
    }

    fn serve(&mut self, connection: &Connection) -> End {
        let hot = match Hot::prepare(connection) {
            Ok(hot) => hot,
            Err(error) => {
                tracing::error!(%error, "the database file cannot be used; it will be reopened");
                return End::ConnectionLost;
            }
        };
        let mut desk = Desk {
            connection,
            hot,
            state: &mut self.state,
            care: Care::Swift,
        };
        while let Some(batch) = take_batch(&self.queue, self.options.batch_items_max) {
            if let Reached::ConnectionLost = commit(&mut desk, batch) {
                return End::ConnectionLost;
            }
            match self.log.after_commit(connection) {
                Helped::No => {}
                Helped::Yes => {
                    if let Err(error) = connection::fit_cache(connection, &self.options) {
                        tracing::warn!(%error, "the page cache could not be resized");
                    }
                }
            }
        }
        End::Closed
    }

    /// The first transaction on a reopened connection.
    fn commit_on(&mut self, connection: &Connection, batch: Vec<Box<dyn Call>>) {
        match Hot::prepare(connection) {
            Ok(hot) => {
                let mut desk = Desk {
                    connection,
                    hot,
                    state: &mut self.state,
                    care: Care::Swift,
                };
                // If this fails too, `serve` meets the same failure and reopens the file.
                commit(&mut desk, batch);
            }
            Err(error) => answer_all(batch, Some(&Failure::from(error))),
        }
    }
}

enum Reached {
    Answered,
    ConnectionLost,
}

/// Waits for a call and takes any others that are queued; `None` once the queue is closed and empty.
fn take_batch(queue: &Queue<Box<dyn Call>>, items_max: usize) -> Option<Vec<Box<dyn Call>>> {
    let first = match queue.wait() {
        Received::Call(call) => call,
        Received::Empty | Received::Closed => return None,
    };
    let mut items = first.items();
    let mut batch = vec![first];
    while items < items_max {
        match queue.poll() {
            Received::Call(call) => {
                items += call.items();
                batch.push(call);
            }
            Received::Empty | Received::Closed => break,
        }
    }
    Some(batch)
}

/// Runs a batch in one transaction and answers it.
fn commit(desk: &mut Desk<'_>, mut batch: Vec<Box<dyn Call>>) -> Reached {
    desk.care = Care::Swift;
    let mut outcome = transact(desk, &mut batch);
    if matches!(&outcome, Err(failure) if failure.reach() == Reach::Item) {
        desk.care = Care::Careful;
        outcome = transact(desk, &mut batch);
    }
    match outcome {
        Ok(()) => {
            fail::fail_point!("sqlite.after_commit");
            answer_all(batch, None);
            Reached::Answered
        }
        Err(failure) => {
            tracing::warn!(%failure, calls = batch.len(), "a transaction was rolled back");
            answer_all(batch, Some(&failure));
            match failure.reach() {
                Reach::Item | Reach::Transaction => Reached::Answered,
                Reach::Connection => Reached::ConnectionLost,
            }
        }
    }
}

fn transact(desk: &mut Desk<'_>, batch: &mut [Box<dyn Call>]) -> Result<(), Failure> {
    let outcome = attempt(desk, batch);
    if outcome.is_err() {
        desk.state.rolled_back();
        desk.state.recent.rolled_back();
        if !desk.connection.is_autocommit() {
            // After some errors SQLite has already rolled back. If this rollback fails too, the connection is replaced,
            // and the transaction goes with it.
            desk.connection.execute_batch("ROLLBACK")?;
        }
    }
    outcome
}

fn attempt(desk: &mut Desk<'_>, batch: &mut [Box<dyn Call>]) -> Result<(), Failure> {
    let before = desk.connection.total_changes();
    desk.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for call in batch {
        call.run(desk)?;
    }
    // A transaction that only read must not write.
    if desk.connection.total_changes() > before {
        moment::keep(desk)?;
        desk.state.recent.merge(desk.connection)?;
    }
    desk.state.tallies.flush(desk.connection)?;
    fail::fail_point!("sqlite.before_commit", |_| {
        Err(Failure::Gone("the fail point before the commit".to_owned()))
    });
    desk.connection.prepare_cached("COMMIT")?.execute([])?;
    desk.state.recent.committed();
    Ok(())
}

fn answer_all(batch: Vec<Box<dyn Call>>, undone: Option<&Failure>) {
    for call in batch {
        call.answer(undone);
    }
}
