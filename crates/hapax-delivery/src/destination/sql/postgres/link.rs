//! One connection to a PostgreSQL target, with the destination's statements as the server prepared them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::{join, join_all};
use hapax::inbox::PreparedClaims;
use hapax::{Claim, DatabaseError};
use hapax_store_postgres::Connected;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Transaction};

use super::super::failure::{Failure, Kind, chain};
use super::super::{Job, Plan};
use super::value::Bound;
use super::{Target, one_by_one};
use hapax_config::destination::sql::Statement;

/// Serializes the creation of the table among replicas that start together.
const CREATE_LOCK: i64 = 0x6861_7061_785f_696e;

pub(super) struct Link {
    pub(super) client: Client,
    pub(super) plan: Arc<Plan>,
    ready: Ready,
    pub(super) seen: Seen,
}

/// What runs in every transaction.
struct Ready {
    statements: Vec<Runnable>,
    /// The claim, where statements are prepared.
    claims: Option<PreparedClaims>,
}

/// The facts read from the database.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) inbox: Inbox,
    /// Whether a constraint or trigger may run only at COMMIT.
    pub(super) is_deferrable: bool,
}

/// How expired inbox rows are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inbox {
    /// In the order of their expiry.
    Ordered,
    /// An earlier release created the table, with an index that has no order.
    Unordered,
}

/// A statement, ready to run.
enum Runnable {
    Prepared(tokio_postgres::Statement),
    Text(String),
}

impl Link {
    /// Connects, and makes sure that the inbox exists and that the server accepts the statements.
    pub(super) async fn open(target: &Target) -> Result<Self, Failure> {
        let Connected { client, prepares } = target.connector.connect().await.map_err(|error| {
            Failure::connection(format!("the database cannot be reached: {}", chain(&error)))
        })?;
        let plan = Arc::clone(&target.plan);
        let prepares = prepares && target.prepares.load(Ordering::Acquire);
        let looking = async {
            let seen = look(&client).await?;
            Ok::<_, Failure>((seen, ready(&client, &plan, prepares).await?))
        };
        // A server that accepts connections may still not answer.
        let (seen, ready) = tokio::time::timeout(plan.timeout, looking)
            .await
            .unwrap_or_else(|_| Err(Failure::timeout("the database does not respond")))?;
        Ok(Self {
            client,
            plan,
            ready,
            seen,
        })
    }

    /// Examines the database again. The server fixes the types of a statement's parameters and result when it prepares
    /// it: if a table has changed since, an error is not the event's fault.
    pub(super) async fn refresh(&mut self) -> Result<(), Failure> {
        let prepares = self.is_prepared();
        self.seen = look(&self.client).await?;
        self.ready = ready(&self.client, &self.plan, prepares).await?;
        Ok(())
    }

    const fn is_prepared(&self) -> bool {
        self.ready.claims.is_some()
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.client.is_closed()
    }

    /// Where nothing was prepared, the missing statement cannot be ours: it is one of the destination's.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        match failure.kind {
            Kind::Unprepared if !self.is_prepared() => Failure {
                kind: Kind::Statement,
                ..failure
            },
            Kind::Unprepared | Kind::Connection | Kind::Timeout | Kind::Contention | Kind::Statement => {
                failure
            }
        }
    }

    /// The client, and the statements to run on it.
    pub(super) fn parts(&mut self) -> (&mut Client, Runner<'_>) {
        let runner = Runner {
            ready: &self.ready,
            plan: &self.plan,
        };
        (&mut self.client, runner)
    }
}

/// Claims events, and runs the destination's statements, event by event.
#[derive(Clone, Copy)]
pub(super) struct Runner<'l> {
    ready: &'l Ready,
    plan: &'l Plan,
}

impl Runner<'_> {
    /// Claims the events in the inbox.
    pub(super) async fn claim(
        &self,
        transaction: &Transaction<'_>,
        jobs: &[Job],
    ) -> Result<Vec<Claim>, DatabaseError> {
        let (inbox, events) = (&self.plan.inbox, jobs.iter().map(|job| &job.event));
        match &self.ready.claims {
            Some(claims) => inbox.claim_many_prepared(transaction, claims, events).await,
            None => inbox.claim_many(transaction, events).await,
        }
    }

    /// Runs them for one event and returns how many rows each changed. All are sent at once; those of other events in
    /// the transaction come before or after, never in between, so each statement sees what the previous one wrote.
    pub(super) async fn run(&self, transaction: &Transaction<'_>, job: &Job) -> Result<Vec<u64>, Failure> {
        let bound = |slots: &Vec<usize>| slots.iter().map(|slot| Bound(&job.values[*slot])).collect();
        let values: Vec<Vec<Bound<'_>>> = self.plan.slots.iter().map(bound).collect();
        let runs = self
            .ready
            .statements
            .iter()
            .zip(&values)
            .map(|(statement, values)| execute(transaction, statement, values));
        let rows: Result<Vec<u64>, _> = one_by_one::join(runs.collect()).await.into_iter().collect();
        // The first failure is the reason; later ones only say that something had failed.
        Ok(rows?)
    }
}

async fn execute(
    transaction: &Transaction<'_>,
    statement: &Runnable,
    values: &[Bound<'_>],
) -> Result<u64, tokio_postgres::Error> {
    match statement {
        Runnable::Prepared(statement) => {
            let params: Vec<&(dyn ToSql + Sync)> =
                values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            transaction.execute(statement, &params).await
        }
        Runnable::Text(text) => {
            let params: Vec<(&(dyn ToSql + Sync), Type)> = values
                .iter()
                .map(|value| (value as &(dyn ToSql + Sync), value.kind()))
                .collect();
            transaction.execute_typed(text, &params).await
        }
    }
}

/// The claim and the destination's statements, prepared if the server allows it.
async fn ready(client: &Client, plan: &Plan, prepares: bool) -> Result<Ready, Failure> {
    let texts = plan.statements.iter().map(Statement::for_postgres);
    if !prepares {
        return Ok(Ready {
            statements: texts.map(Runnable::Text).collect(),
            claims: None,
        });
    }
    let texts: Vec<String> = texts.collect();
    let (claims, answers) = join(
        PreparedClaims::new(client),
        join_all(texts.iter().map(|text| client.prepare(text))),
    )
    .await;
    let statements: Result<Vec<_>, _> = answers.into_iter().collect();
    Ok(Ready {
        statements: statements?.into_iter().map(Runnable::Prepared).collect(),
        claims: Some(claims?),
    })
}

/// Whether the inbox exists, whether an index has its rows in the order of their expiry, and whether anything can be
/// deferred: constraints are enforced by triggers, too.
const LOOK: &str = "
    SELECT to_regclass('hapax_inbox') IS NOT NULL, EXISTS (
        SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
        JOIN pg_attribute t ON t.attrelid = i.indrelid AND t.attnum = i.indkey[0]
        WHERE i.indrelid = to_regclass('hapax_inbox') AND i.indisvalid AND i.indpred IS NULL
          AND a.amname = 'btree' AND t.attname = 'expires_at'),
        EXISTS (SELECT FROM pg_trigger WHERE tgdeferrable)";

/// Examines the database, and creates the inbox if it is missing.
async fn look(client: &Client) -> Result<Seen, Failure> {
    let found = client.query_typed(LOOK, &[]).await?;
    let is = |column: usize| {
        found
            .first()
            .is_some_and(|row| row.try_get(column).unwrap_or(false))
    };
    let seen = |inbox| Seen {
        inbox,
        is_deferrable: is(2),
    };
    if is(0) {
        return Ok(seen(if is(1) { Inbox::Ordered } else { Inbox::Unordered }));
    }
    let create = format!(
        "BEGIN; SELECT pg_advisory_xact_lock({CREATE_LOCK}); {} COMMIT",
        hapax::tables::POSTGRES_INBOX
    );
    client.batch_execute(&create).await.map_err(|error| {
        let failure = Failure::from(error);
        Failure::connection(format!(
            "the table hapax_inbox is missing in this database and could not be created ({}); create it there as \
             docs/guides/exactly-once-effect.md shows",
            failure.message
        ))
    })?;
    Ok(seen(Inbox::Ordered))
}
