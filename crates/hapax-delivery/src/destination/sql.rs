//! The `sql` destination: statements in the target database, in one transaction with a row of `hapax_inbox`. The effect
//! and its inbox row commit together, so the effect is applied once, however often the event is delivered, killed or
//! replayed.
//!
//! ```text
//! deliver ──► desk (a bounded queue) ──► a worker takes the queued events ──► one transaction for all of them
//! ```

mod failure;
mod outcome;
mod pace;
mod param;
mod parts;
mod postgres;
mod sqlite;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax::{Event, Inbox};
use hapax_core::{DestinationId, ErrorClass, Leased};
use hapax_engine::{AttemptResult, Reply, Transport};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::{DestinationKind, SetupError, Shared, Unreachable};
use hapax_config::destination::sql::{Param, Sql, Statement, Value};
use hapax_config::{Destination, SqlUrl};
use hapax_telemetry::traces::SpanTarget;
use pace::Pace;
use parts::Patience;

/// How often the inbox is scanned for expired rows. As long as full batches of them are found, one follows each
/// transaction, and more while no event waits.
const PURGE_EVERY: Duration = Duration::from_secs(10);
/// How long to wait after a failed purge.
const PURGE_AGAIN: Duration = Duration::from_secs(600);
/// Inbox rows removed in one transaction. Far more than the events that share one, so the inbox shrinks under any load.
const PURGE_ROWS: u32 = 1_000;
/// The most events that may wait for a worker. A destination never runs more attempts at once than its `concurrency`.
const DESK_MAX: usize = 1_024;

#[async_trait]
impl DestinationKind for Sql {
    fn start(&self, destination: &Destination, _shared: &Shared) -> Result<Arc<dyn Transport>, SetupError> {
        match SqlTarget::new(&destination.id, destination.timeout, self) {
            Ok(target) => Ok(Arc::new(target)),
            Err(why) => Err(SetupError::Setting {
                destination: destination.name.clone(),
                why: format!("its `url` cannot be used: {why}"),
            }),
        }
    }

    /// Connects, and lets the database check the statements without running them.
    async fn check(&self) -> Result<String, Unreachable> {
        let found = match &self.url {
            SqlUrl::Postgres(url) => postgres::probe(self, url).await,
            SqlUrl::Sqlite(path) => {
                let (sql, path) = (self.clone(), path.clone());
                let probed = tokio::task::spawn_blocking(move || sqlite::probe(&sql, &path)).await;
                probed.unwrap_or_else(|error| Err(error.to_string()))
            }
        };
        match found {
            Ok(()) => Ok(format!("{} is reachable and accepts the statements", self.url)),
            Err(problem) => Err(Unreachable {
                problem: format!("{}: {problem}", self.url),
                fix: "correct its url, its statements or the database; until then, events wait or become dead letters; \
                      nothing is lost"
                    .to_owned(),
            }),
        }
    }

    fn span_target(&self) -> SpanTarget {
        SpanTarget::Plain
    }

    fn remembers(&self) -> Option<Duration> {
        Some(self.inbox_retention)
    }
}

#[derive(Debug)]
struct SqlTarget {
    plan: Arc<Plan>,
    desk: mpsc::Sender<Job>,
}

/// What every worker shares.
#[derive(Debug)]
struct Plan {
    inbox: Inbox,
    statements: Vec<Statement>,
    params: Vec<(String, Param)>,
    /// For each statement, the index in `params` of each of its placeholders.
    slots: Vec<Vec<usize>>,
    timeout: Duration,
    pace: Pace,
}

#[derive(Debug)]
struct Job {
    event: Event,
    /// One for each of the plan's `params`.
    values: Vec<Value>,
    answer: oneshot::Sender<AttemptResult>,
}

impl Job {
    /// Whether its attempt is still running. One that timed out will be retried.
    fn is_waited_for(&self) -> bool {
        !self.answer.is_closed()
    }
}

/// The queue that workers take from. The one that holds the lock waits for the next event; the others are busy or wait
/// for the lock.
type Desk = Arc<Mutex<mpsc::Receiver<Job>>>;

impl SqlTarget {
    /// A target that connects on the first event. The error never quotes the URL.
    fn new(consumer: &DestinationId, timeout: Duration, sql: &Sql) -> Result<Self, String> {
        let (desk, queue) = mpsc::channel(DESK_MAX);
        let plan = Arc::new(Plan::new(consumer, timeout, sql)?);
        let queue: Desk = Arc::new(Mutex::new(queue));
        match &sql.url {
            SqlUrl::Postgres(url) => postgres::start(url, &plan, &queue, sql.connections)?,
            SqlUrl::Sqlite(path) => sqlite::start(path.clone(), &plan, queue),
        }
        Ok(Self { plan, desk })
    }
}

#[async_trait]
impl Transport for SqlTarget {
    async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        let (event, values) = match event(delivery).and_then(|event| Ok((event, self.plan.values(delivery)?)))
        {
            Ok(read) => read,
            Err(message) => return refused(message),
        };
        let (answer, answered) = oneshot::channel();
        let job = Job {
            event,
            values,
            answer,
        };
        let gone = || AttemptResult::failed(ErrorClass::Connect, "the destination's worker has stopped");
        if self.desk.send(job).await.is_err() {
            return gone();
        }
        answered.await.unwrap_or_else(|_| gone())
    }
}

/// Events that arrived while others were tried: they run before a slow one gets its full timeout.
fn waiting(desk: &Desk) -> Vec<Job> {
    let Ok(mut queue) = desk.try_lock() else {
        return Vec::new();
    };
    std::iter::from_fn(|| queue.try_recv().ok())
        .take(pace::TOGETHER_MAX)
        .collect()
}

fn is_idle(desk: &Desk) -> bool {
    // Another worker holds the lock only while it waits for an event.
    desk.try_lock()
        .map_or(true, |queue| queue.is_empty() && !queue.is_closed())
}

impl Plan {
    fn statement_timeout(&self, patience: Patience) -> Duration {
        match patience {
            Patience::Full => self.timeout,
            Patience::Short => self.timeout / 4,
        }
    }

    fn new(consumer: &DestinationId, timeout: Duration, sql: &Sql) -> Result<Self, String> {
        let inbox = Inbox::new(consumer.as_str()).map_err(|error| error.to_string())?;
        let params: Vec<_> = sql
            .params
            .iter()
            .map(|(name, param)| (name.clone(), param.clone()))
            .collect();
        let slot = |name: &String| params.iter().position(|(known, _)| known == name);
        let slots = sql
            .statements
            .iter()
            .map(|statement| statement.names().iter().filter_map(slot).collect());
        Ok(Self {
            inbox: inbox.retention(sql.inbox_retention),
            slots: slots.collect(),
            statements: sql.statements.clone(),
            params,
            timeout,
            pace: Pace::default(),
        })
    }

    fn values(&self, delivery: &Leased) -> Result<Vec<Value>, String> {
        let value = |(name, param): &(String, Param)| {
            param::value(param, delivery).map_err(|why| format!("the parameter `{name}` has no value: {why}"))
        };
        self.params.iter().map(value).collect()
    }
}

/// The event as the inbox identifies it. An earlier attempt may have applied it; then its row is kept longer.
fn event(delivery: &Leased) -> Result<Event, String> {
    let identity = &delivery.event.identity;
    let event =
        Event::new(identity.scope.as_str(), identity.event_id.as_str()).map_err(|error| error.to_string())?;
    Ok(event
        .with_body_hash(delivery.event.raw_hash)
        .in_generation(delivery.generation.0)
        .replayed())
}

fn refused(message: String) -> AttemptResult {
    AttemptResult {
        reply: Reply::Refused {
            class: ErrorClass::Sql,
            message,
        },
        status: None,
        excerpt: String::new(),
    }
}
