//! An SQLite target: one thread with one connection, since SQLite has one writer. Each event runs under a savepoint. If
//! a savepoint cannot undo a failure alone (a statement rolled back the whole transaction, or the COMMIT was refused),
//! the events are retried in parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, Savepoint, Transaction, TransactionBehavior};

use super::failure::{Broken, Failure, Kind};
use super::outcome::{Outcome, tell, tell_all};
use super::parts::{Part, Parts, Patience};
use super::{Desk, Job, PURGE_AGAIN, PURGE_EVERY, PURGE_ROWS, Plan, is_idle, waiting};
use hapax_config::destination::sql::{Sql, Value};

/// Virtual machine steps between two checks of the clock.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// Starts the thread; it ends when the last sender of the desk is dropped.
pub(super) fn start(path: PathBuf, plan: &Arc<Plan>, desk: Desk) {
    let plan = Arc::clone(plan);
    tokio::task::spawn_blocking(move || work(&path, &plan, &desk));
}

/// Whether the database is reachable and accepts the statements; none of them is run.
pub(super) fn probe(sql: &Sql, path: &Path) -> Result<(), String> {
    let plan = Plan::new(&"doctor".into(), Duration::from_secs(5), sql)?;
    let link = open(path, &plan).map_err(|failure| failure.message)?;
    for statement in &plan.statements {
        link.connection
            .prepare(&statement.for_sqlite())
            .map_err(|error| Failure::from(error).message)?;
    }
    Ok(())
}

/// A connection, and the time at which a statement is interrupted.
struct Link {
    connection: Connection,
    deadline: Arc<Mutex<Instant>>,
}

fn work(path: &Path, plan: &Plan, desk: &Desk) {
    let mut place = None;
    let mut purge_due = Instant::now();
    loop {
        let mut jobs = Vec::new();
        if desk
            .blocking_lock()
            .blocking_recv_many(&mut jobs, plan.pace.together())
            == 0
        {
            return;
        }
        apply_all(path, plan, &mut place, (jobs, desk));
        if let Some(link) = &place {
            purge(plan, link, desk, &mut purge_due);
        }
    }
}

/// Applies events: together if that succeeds, otherwise in parts, so that one that fails does not affect the others.
fn apply_all(path: &Path, plan: &Plan, place: &mut Option<Link>, (jobs, desk): (Vec<Job>, &Desk)) {
    let mut parts = Parts::new(jobs);
    let (mut is_whole, mut has_looked) = (true, false);
    while let Some(Part { jobs, patience }) = parts.next(Job::is_waited_for) {
        // Only once, so that the slow one gets its turn.
        if patience == Patience::Full && !is_whole && !std::mem::replace(&mut has_looked, true) {
            parts.put_before(Part { jobs, patience }, waiting(desk));
            continue;
        }
        let started = Instant::now();
        let applied = begin(path, plan, place, patience).map(|transaction| apply(plan, transaction, &jobs));
        // A part of a failed transaction is small and says nothing about the pace.
        if std::mem::take(&mut is_whole) {
            plan.pace.took(started.elapsed(), jobs.len());
        }
        match applied {
            Ok(Ok(results)) => {
                for (job, result) in jobs.into_iter().zip(results) {
                    let answer = result.map_or_else(|failure| failure.answer(), |outcome| outcome.answer());
                    tell(job, answer);
                }
            }
            Ok(Err(broken)) => {
                if broken.failure.kind == Kind::Connection {
                    *place = None;
                }
                if let Some(jobs) = parts.failed(Part { jobs, patience }, &broken) {
                    tell_all(jobs, &broken.failure);
                }
            }
            // This failure is not about any of the events.
            Err(failure) => {
                *place = None;
                return tell_all(jobs.into_iter().chain(parts.rest()), &failure);
            }
        }
    }
}

fn open(path: &Path, plan: &Plan) -> Result<Link, Failure> {
    // The application's file: it is not ours to create.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)
        .map_err(|error| Failure::connection(format!("{} cannot be opened: {error}", path.display())))?;
    connection.busy_timeout(plan.timeout)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Regardless of the build's default: committed data must survive a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection
        .execute_batch(hapax::tables::SQLITE_INBOX)
        .map_err(|error| {
            Failure::connection(format!("the table hapax_inbox could not be created: {error}"))
        })?;
    let deadline = Arc::new(Mutex::new(Instant::now() + plan.timeout));
    let seen = Arc::clone(&deadline);
    let is_over = move || Instant::now() >= *seen.lock();
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(is_over))?;
    Ok(Link { connection, deadline })
}

/// A transaction whose statements get this much time.
fn begin<'l>(
    path: &Path,
    plan: &Plan,
    place: &'l mut Option<Link>,
    patience: Patience,
) -> Result<Open<'l>, Failure> {
    let link = match place {
        Some(link) => link,
        None => place.insert(open(path, plan)?),
    };
    let clock = Clock {
        deadline: &link.deadline,
        limit: plan.statement_timeout(patience),
    };
    clock.restart();
    let transaction = link
        .connection
        .transaction_with_behavior(TransactionBehavior::Immediate)?;
    Ok(Open { transaction, clock })
}

struct Open<'l> {
    transaction: Transaction<'l>,
    clock: Clock<'l>,
}

/// When a statement is interrupted.
struct Clock<'l> {
    deadline: &'l Mutex<Instant>,
    limit: Duration,
}

impl Clock<'_> {
    fn restart(&self) {
        *self.deadline.lock() = Instant::now() + self.limit;
    }
}

/// One transaction for all. The outer failure is about the transaction, the inner one about an event.
fn apply(plan: &Plan, open: Open<'_>, jobs: &[Job]) -> Result<Vec<Result<Outcome, Failure>>, Broken> {
    let Open {
        mut transaction,
        clock,
    } = open;
    let mut results = Vec::with_capacity(jobs.len());
    for (number, job) in jobs.iter().enumerate() {
        clock.restart();
        let mut savepoint = transaction.savepoint()?;
        match apply_one(plan, &mut savepoint, job) {
            Ok(outcome) => {
                savepoint.commit()?;
                results.push(Ok(outcome));
            }
            // Not if SQLite rolled everything back: the savepoint is gone, and with it the effects of all the others.
            Err(failure) if failure.kind == Kind::Statement && !savepoint.is_autocommit() => {
                savepoint.rollback()?;
                savepoint.commit()?;
                results.push(Err(failure));
            }
            Err(failure) => return Err(failure.at(number)),
        }
    }
    clock.restart();
    fail::fail_point!("sql.before_commit");
    transaction.commit()?;
    fail::fail_point!("sql.after_commit");
    Ok(results)
}

fn apply_one(plan: &Plan, savepoint: &mut Savepoint<'_>, job: &Job) -> Result<Outcome, Failure> {
    if let Some(outcome) = Outcome::of_claim(plan.inbox.claim(savepoint, &job.event)?) {
        return Ok(outcome);
    }
    let mut rows = Vec::with_capacity(plan.statements.len());
    for (statement, slots) in plan.statements.iter().zip(&plan.slots) {
        let mut statement = savepoint.prepare_cached(&statement.for_sqlite())?;
        for (index, slot) in slots.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, bound(&job.values[*slot]))?;
        }
        rows.push(run(&mut statement)?);
    }
    Ok(Outcome::Applied(rows))
}

/// Runs a statement that may or may not return rows; the number of rows that it changed or returned.
fn run(statement: &mut rusqlite::CachedStatement<'_>) -> rusqlite::Result<u64> {
    if statement.column_count() == 0 {
        return statement.raw_execute().map(|count| count as u64);
    }
    let mut rows = statement.raw_query();
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Removes expired rows from the inbox: one batch, and more while no event waits.
fn purge(plan: &Plan, link: &Link, desk: &Desk, due: &mut Instant) {
    let clock = Clock {
        deadline: &link.deadline,
        limit: plan.timeout,
    };
    while Instant::now() >= *due {
        clock.restart();
        match hapax::inbox::purge(&link.connection, PURGE_ROWS) {
            Ok(removed) if removed >= u64::from(PURGE_ROWS) => {
                if !is_idle(desk) {
                    return;
                }
            }
            Ok(_) => *due = Instant::now() + PURGE_EVERY,
            Err(error) => {
                *due = Instant::now() + PURGE_AGAIN;
                tracing::warn!(
                    delivery = plan.inbox.consumer(),
                    %error,
                    "old rows of hapax_inbox were not removed; retrying later"
                );
            }
        }
    }
}

/// A number that does not fit is stored as text, with all its digits.
fn bound(value: &Value) -> rusqlite::types::Value {
    use rusqlite::types::Value as Bound;
    match value {
        Value::Null => Bound::Null,
        Value::Text(text) | Value::Json(text) => Bound::Text(text.clone()),
        Value::Boolean(value) => Bound::Integer(i64::from(*value)),
        Value::Bytes(bytes) => Bound::Blob(bytes.to_vec()),
        Value::Number(text) => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(integer), _) => Bound::Integer(integer),
            (Err(_), Ok(real)) if text.contains(['.', 'e', 'E']) => Bound::Real(real),
            (Err(_), _) => Bound::Text(text.clone()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::types::Value as Bound;

    #[test]
    fn numbers_keep_their_digits() {
        let number = |text: &str| bound(&Value::Number(text.to_owned()));
        assert_eq!(number("42"), Bound::Integer(42));
        assert_eq!(number("1.5"), Bound::Real(1.5));
        assert_eq!(
            number("12345678901234567890"),
            Bound::Text("12345678901234567890".to_owned())
        );
    }
}
