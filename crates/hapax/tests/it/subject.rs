//! The subject of the laws: a driver with an account to which each delivery adds one, not idempotently.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use hapax::outbox::Call;
use hapax::{Claim, Event, Inbox, Outcome, RunError};
use serde::Deserialize;
use tokio::sync::oneshot;

/// Creates the account, in both dialects.
pub(crate) const ACCOUNT: &str =
    "create table account (balance integer not null); insert into account values (0)";
/// The effect, which shows when applied twice.
pub(crate) const ADD: &str = "update account set balance = balance + 1";

pub(crate) type Run = Result<Outcome<()>, RunError<Failed>>;

/// An event on its way to a handler.
pub(crate) struct Delivery {
    pub(crate) inbox: Inbox,
    pub(crate) event: Event,
    /// How long it may wait for another delivery: on SQLite this is a property of the connection.
    pub(crate) wait: Duration,
    /// What the handler does after it has added one.
    pub(crate) actions: Vec<Action>,
}

/// What a handler does.
pub(crate) enum Action {
    /// Runs a statement.
    Execute(String),
    /// Runs a statement, and drops its error.
    Ignore(String),
    /// Stages a call.
    Stage(Call),
    /// Signals that it has begun, and waits for a command.
    Hold(Gate),
    /// Fails with these words.
    Fail(String),
    /// Panics.
    Panic,
}

/// How a transaction of one's own ends.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    Commit,
    RollBack,
}

/// The dialect of a database.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dialect {
    Postgres,
    Sqlite,
}

/// The handler's side of a held delivery.
pub(crate) struct Gate {
    begun: oneshot::Sender<()>,
    word: oneshot::Receiver<Word>,
}

/// The command to a held handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    GoOn,
    Fail,
}

/// The test's side of a held delivery.
pub(crate) struct Held {
    pub(crate) begun: oneshot::Receiver<()>,
    pub(crate) word: oneshot::Sender<Word>,
}

impl Delivery {
    /// A delivery to the consumer `billing` that waits as long as a test may take.
    pub(crate) fn of(event: Event) -> Self {
        let wait = Duration::from_secs(30);
        Self {
            inbox: Inbox::new("billing").unwrap().wait(wait),
            event,
            wait,
            actions: Vec::new(),
        }
    }

    pub(crate) fn then(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }
}

impl Gate {
    pub(crate) fn new() -> (Self, Held) {
        let (starting, begun) = oneshot::channel();
        let (tell, word) = oneshot::channel();
        let gate = Self {
            begun: starting,
            word,
        };
        (gate, Held { begun, word: tell })
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
    const DIALECT: Dialect;

    /// A new account at 0, in its own database.
    fn new() -> impl Future<Output = Self> + Send;

    /// Delivers the event: the handler adds one, then does what the delivery says.
    fn run(&self, delivery: Delivery) -> impl Future<Output = Run> + Send;

    /// [`Inbox::claim`] in a transaction of its own.
    fn claim(&self, inbox: &Inbox, event: &Event, end: End) -> impl Future<Output = Claim> + Send;

    /// [`hapax::inbox::once`], with the effect and a commit.
    fn once(&self, source: &str, event_id: &str, consumer: &str) -> impl Future<Output = bool> + Send;

    /// [`hapax::outbox::stage`] in a transaction of its own.
    fn stage(&self, call: Call, end: End) -> impl Future<Output = ()> + Send;

    /// [`hapax::inbox::purge`].
    fn purge(&self, rows_max: u32) -> impl Future<Output = u64> + Send;

    /// [`hapax::create_tables`].
    fn create_tables(&self) -> impl Future<Output = ()> + Send;

    /// Runs a statement.
    fn execute(&self, sql: &str) -> impl Future<Output = ()> + Send;

    /// Runs a query that returns one column of text.
    fn texts(&self, sql: &str) -> impl Future<Output = Vec<String>> + Send;

    /// Runs a query that returns one number.
    fn number(&self, sql: &str) -> impl Future<Output = i64> + Send {
        let sql = format!("select cast(({sql}) as text)");
        async move { self.texts(&sql).await[0].parse().unwrap() }
    }

    /// All keys in the outbox, in order.
    fn keys(&self) -> impl Future<Output = Vec<String>> + Send {
        self.texts("select idempotency_key from hapax_outbox order by id")
    }
}
