//! The subject of the laws: a driver with an account to which each delivery adds one, not idempotently.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use hapax::{Event, Inbox, Outcome, RunError};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Creates the account, in both dialects.
pub(crate) const ACCOUNT: &str =
    "create table account (balance integer not null); insert into account values (0)";
/// The effect, which shows when applied twice.
pub(crate) const ADD: &str = "update account set balance = balance + 1";
/// The target of staged calls.
pub(crate) const TARGET: &str = "https://mail.example.com/send";

/// A deferred trigger runs inside COMMIT, and this one ends the session there.
pub(crate) const DISCONNECT_AT_COMMIT: &str = "
    create function pg_temp.disconnect() returns trigger language plpgsql
        as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
    create temporary table doomed (id integer);
    create constraint trigger disconnect after insert on doomed deferrable initially deferred
        for each row execute function pg_temp.disconnect();
    insert into doomed values (1)";

pub(crate) type Run = Result<Outcome<()>, RunError<Failed>>;

/// What a handler does after it has added one.
#[derive(Clone)]
pub(crate) enum Step {
    /// Nothing more.
    Add,
    /// Fails.
    Fail,
    /// Panics.
    Panic,
    /// Signals that it has begun, and waits for a command.
    Hold(Arc<Mutex<Option<Gate>>>),
    /// Runs a statement that fails, and ignores the error.
    Swallow,
    /// Ends the transaction itself.
    Commit,
    /// Loses its connection, and ignores the error.
    Disconnect,
    /// Loses its connection in the middle of the commit.
    DisconnectAtCommit,
    /// Stages two calls.
    Stage,
    /// Stages two calls, and fails.
    StageAndFail,
    /// Fails with a serialization failure.
    Victim,
}

/// The handler's side of a held delivery.
pub(crate) struct Gate {
    begun: oneshot::Sender<()>,
    word: oneshot::Receiver<Word>,
}

/// The command to a held handler.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    GoOn,
    Fail,
}

/// The test's side of a held delivery.
pub(crate) struct Held {
    pub(crate) begun: oneshot::Receiver<()>,
    pub(crate) word: oneshot::Sender<Word>,
}

impl Step {
    pub(crate) fn hold() -> (Self, Held) {
        let (starting, begun) = oneshot::channel();
        let (tell, word) = oneshot::channel();
        let gate = Gate {
            begun: starting,
            word,
        };
        (
            Self::Hold(Arc::new(Mutex::new(Some(gate)))),
            Held { begun, word: tell },
        )
    }
}

impl Gate {
    pub(crate) fn take(gate: &Mutex<Option<Self>>) -> Self {
        gate.lock().take().expect("a gate is passed once")
    }

    pub(crate) async fn pass(self) -> Result<(), Failed> {
        let _ = self.begun.send(());
        judge(self.word.await.ok())
    }

    pub(crate) fn pass_blocking(self) -> Result<(), Failed> {
        let _ = self.begun.send(());
        judge(self.word.blocking_recv().ok())
    }
}

fn judge(word: Option<Word>) -> Result<(), Failed> {
    match word {
        Some(Word::GoOn) => Ok(()),
        Some(Word::Fail) | None => Err(Failed::told()),
    }
}

/// A handler's failure.
#[derive(Debug)]
pub(crate) struct Failed(Box<dyn std::error::Error + Send + Sync>);

impl Failed {
    pub(crate) fn told() -> Self {
        Self("told to fail".into())
    }

    pub(crate) fn of(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// A driver with an account.
pub(crate) trait Subject: Clone + Send + Sync + 'static {
    /// A new account at 0, in its own database.
    fn new() -> impl Future<Output = Self> + Send;

    /// Delivers the event: adds one, then does `step`.
    fn run(&self, inbox: &Inbox, event: &Event, step: Step) -> impl Future<Output = Run> + Send;

    /// [`hapax::inbox::once`], with the effect and a commit.
    fn once(&self, source: &str, event_id: &str, consumer: &str) -> impl Future<Output = bool> + Send;

    /// Runs a query that returns one number.
    fn number(&self, sql: &'static str) -> impl Future<Output = i64> + Send;

    /// All keys in the outbox, in order.
    fn keys(&self) -> impl Future<Output = Vec<String>> + Send;

    /// [`hapax::inbox::purge`].
    fn purge(&self, rows_max: u32) -> impl Future<Output = u64> + Send;
}
