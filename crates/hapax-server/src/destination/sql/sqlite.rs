//! An SQLite target: one thread with one connection, since SQLite has one writer. Each event runs under a savepoint.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Savepoint, TransactionBehavior};

use super::failure::{Failure, Kind};
use super::outcome::{Outcome, tell};
use super::{Desk, Job, Plan};
use crate::config::{Sql, Value};

/// Steps of the virtual machine between two looks at the clock.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;
/// How often rows that have outlived their time are removed from the inbox, at most.
const PURGE_EVERY: Duration = Duration::from_secs(600);

/// Rows of the inbox that are removed in one transaction.
const PURGE_ROWS: u32 = 1_000;

/// Starts the thread; it ends with the last sender of the desk.
pub(super) fn start(path: PathBuf, plan: &Arc<Plan>, desk: Desk) {
    let plan = Arc::clone(plan);
    tokio::task::spawn_blocking(move || work(&path, &plan, &desk));
}

/// Whether the database is there, and takes the statements: none of them is run.
pub(crate) fn probe(sql: &Sql, path: &Path) -> Result<(), String> {
    let plan = Plan::new(&"doctor".into(), Duration::from_secs(5), sql)?;
    let link = open(path, &plan).map_err(|failure| failure.message)?;
    for statement in &plan.statements {
        link.connection
            .prepare(&statement.for_sqlite())
            .map_err(|error| Failure::from(error).message)?;
    }
    Ok(())
}

/// A connection, and the moment at which a statement is interrupted.
struct Link {
    connection: Connection,
    deadline: Arc<Mutex<Instant>>,
}

fn work(path: &Path, plan: &Plan, desk: &Desk) {
    let mut link = None;
    let mut purged = Instant::now();
    loop {
        let mut jobs = Vec::new();
        if desk
            .blocking_lock()
            .blocking_recv_many(&mut jobs, plan.pace.together())
            == 0
        {
            return;
        }
        // Whoever gave up waiting will come again.
        jobs.retain(|job| !job.answer.is_closed());
        if !jobs.is_empty() {
            apply_all(path, plan, &mut link, jobs);
        }
        if purged.elapsed() >= PURGE_EVERY {
            purged = Instant::now();
            purge(plan, link.as_ref());
        }
    }
}

/// Applies events: together if that goes well, and otherwise so that one that fails does not harm the others.
fn apply_all(path: &Path, plan: &Plan, place: &mut Option<Link>, jobs: Vec<Job>) {
    let started = Instant::now();
    let applied = apply(path, plan, place, &jobs);
    plan.pace.took(started.elapsed(), jobs.len());
    match applied {
        Ok(results) => {
            for (job, result) in jobs.into_iter().zip(results) {
                let answer = result.map_or_else(|failure| failure.answer(), |outcome| outcome.answer());
                tell(job, answer);
            }
        }
        Err(failure) => {
            *place = None;
            // SQLite ends the whole transaction when it interrupts a statement.
            if failure.kind == Kind::Timeout && jobs.len() > 1 {
                for job in jobs {
                    apply_all(path, plan, place, vec![job]);
                }
                return;
            }
            for job in jobs {
                tell(job, failure.answer());
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
    // Whatever the build's default is: what was committed must survive a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection
        .execute_batch(hapax::tables::SQLITE_INBOX)
        .map_err(|error| {
            Failure::connection(format!("the table hapax_inbox could not be created: {error}"))
        })?;
    let deadline = Arc::new(Mutex::new(Instant::now() + plan.timeout));
    let seen = Arc::clone(&deadline);
    let is_over = move || Instant::now() >= *seen.lock().unwrap_or_else(PoisonError::into_inner);
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(is_over))?;
    Ok(Link { connection, deadline })
}

/// One transaction for all; the outer failure is about the transaction, the inner one about an event.
fn apply(
    path: &Path,
    plan: &Plan,
    place: &mut Option<Link>,
    jobs: &[Job],
) -> Result<Vec<Result<Outcome, Failure>>, Failure> {
    let link = match place {
        Some(link) => link,
        None => place.insert(open(path, plan)?),
    };
    let restart =
        || *link.deadline.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + plan.timeout;
    restart();
    let mut transaction = link
        .connection
        .transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut results = Vec::with_capacity(jobs.len());
    for job in jobs {
        restart();
        let mut savepoint = transaction.savepoint()?;
        match apply_one(plan, &mut savepoint, job) {
            Ok(outcome) => {
                savepoint.commit()?;
                results.push(Ok(outcome));
            }
            Err(failure) if failure.kind == Kind::Statement => {
                savepoint.rollback()?;
                savepoint.commit()?;
                results.push(Err(failure));
            }
            Err(failure) => return Err(failure),
        }
    }
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

/// Runs a statement that may or may not give rows; how many it changed, or gave.
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

fn purge(plan: &Plan, link: Option<&Link>) {
    let removed = link.map(|link| {
        *link.deadline.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + plan.timeout;
        hapax::inbox::purge(&link.connection, PURGE_ROWS)
    });
    if let Some(Err(error)) = removed {
        tracing::warn!(
            delivery = plan.inbox.consumer(),
            %error,
            "old rows of hapax_inbox were not removed; it is tried again later"
        );
    }
}

/// A number that does not fit keeps its digits as text.
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
