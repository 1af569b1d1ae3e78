//! Replay jobs: stored, so that they resume after a restart, on any replica.

use hapax_core::store::{Cursor, Driver, JobHold, ReplayJob, ReplayJobId, ReplayJobState};
use hapax_core::{EventId, Owner};
use tokio_postgres::Row;

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{optional_time_at, uuid_of};
use crate::session::Session;

/// The maximum number of unfinished jobs: each runs at a rate, and more would only queue up.
const UNFINISHED_MAX: i64 = 1_000;

/// The maximum number of jobs per page.
const PAGE_MAX: u32 = 1_000;

const UPSERT: &str = "
    INSERT INTO hapax.replays (id, state, changed_at, job) VALUES ($1::uuid, $2::text, $3::int8, $4::text)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at, job = excluded.job";

const SELECT: &str = "SELECT job FROM hapax.replays WHERE id = $1::uuid";

const PAGE: &str = "
    SELECT job FROM hapax.replays WHERE $1::uuid IS NULL OR id < $1::uuid ORDER BY id DESC LIMIT $2::int8";

const LOCK: &str = "SELECT job, owner, until FROM hapax.replays WHERE id = $1::uuid FOR UPDATE";

const DRIVE: &str = "UPDATE hapax.replays SET owner = $2::int8, until = $3::int8 WHERE id = $1::uuid";

const UNFINISHED: &str = "
    SELECT job FROM hapax.replays WHERE state = $1::text ORDER BY id LIMIT $2::int8";

// Locked in a global order, so that a driver that claims a job knows who holds the others.
const LOCK_UNFINISHED: &str = "
    SELECT job, owner, until FROM hapax.replays WHERE state = $1::text ORDER BY id LIMIT $2::int8 FOR UPDATE";

pub(crate) async fn create_replay(session: &Session, job: &ReplayJob) -> Result<(), Failure> {
    session.begin().await?;
    write(session, job).await?;
    session.commit().await
}

pub(crate) async fn replay_job(session: &Session, id: ReplayJobId) -> Result<Option<ReplayJob>, Failure> {
    let row = session.optional(SELECT, bind![uuid_of(id.0)]).await?;
    row.map(|row| parse(row.try_get(0)?)).transpose()
}

/// A page of jobs, newest first.
pub(crate) async fn replay_jobs(
    session: &Session,
    (after, limit): &(Option<Cursor>, u32),
) -> Result<(Vec<ReplayJob>, Option<Cursor>), Failure> {
    let limit = (*limit).min(PAGE_MAX) as usize;
    let before = after.map(|Cursor(order)| uuid_of(EventId::least_of(order)));
    let rows = session.rows(PAGE, bind![before, limit as i64 + 1]).await?;
    let jobs: Vec<ReplayJob> = rows
        .iter()
        .take(limit)
        .map(|row| parse(row.try_get(0)?))
        .collect::<Result<_, Failure>>()?;
    let last = jobs.last().map(|job| Cursor(job.id.0.order()));
    Ok((jobs, last.filter(|_| rows.len() > limit)))
}

/// Unfinished jobs, oldest first.
pub(crate) async fn unfinished_replays(session: &Session) -> Result<Vec<ReplayJob>, Failure> {
    let running = state_name(ReplayJobState::Running);
    let rows = session.rows(UNFINISHED, bind![running, UNFINISHED_MAX]).await?;
    rows.iter().map(|row| parse(row.try_get(0)?)).collect()
}

/// Claims a job, or renews the claim.
pub(crate) async fn claim_replay(
    session: &Session,
    (id, driver): &(ReplayJobId, Driver),
) -> Result<Option<ReplayJob>, Failure> {
    session.begin().await?;
    let running = state_name(ReplayJobState::Running);
    let rows = session
        .rows(LOCK_UNFINISHED, bind![running, UNFINISHED_MAX])
        .await?;
    let unfinished: Vec<_> = rows.iter().map(read).collect::<Result<_, Failure>>()?;
    // Read after the locks: a previous holder may have extended its claim.
    let now = session.now().await?;
    let granted = driver.may_take(*id, &unfinished, now);
    if granted {
        drive(session, *id, driver.hold(now)).await?;
    }
    session.commit().await?;
    let mut jobs = unfinished.into_iter().map(|(job, _)| job);
    Ok(jobs.find(|job| granted && job.id == *id))
}

/// Stores progress, unless the job was cancelled or claimed by another driver in the meantime.
pub(crate) async fn advance_replay(
    session: &Session,
    (job, driver): &(ReplayJob, Driver),
) -> Result<bool, Failure> {
    session.begin().await?;
    let written = match lock(session, job.id).await? {
        Some((known, held)) => known.state != ReplayJobState::Cancelled && driver.may_write(held),
        None => false,
    };
    if written {
        write(session, job).await?;
        let now = session.now().await?;
        drive(session, job.id, driver.hold(now)).await?;
    }
    session.commit().await?;
    Ok(written)
}

/// Cancels an unfinished job.
pub(crate) async fn cancel_replay(session: &Session, id: ReplayJobId) -> Result<bool, Failure> {
    session.begin().await?;
    let cancelled = match lock(session, id).await? {
        Some((job, _)) if job.state == ReplayJobState::Running => {
            let cancelled = ReplayJob {
                state: ReplayJobState::Cancelled,
                ..job
            };
            write(session, &cancelled).await?;
            true
        }
        Some(_) | None => false,
    };
    session.commit().await?;
    Ok(cancelled)
}

pub(crate) const fn state_name(state: ReplayJobState) -> &'static str {
    match state {
        ReplayJobState::Running => "running",
        ReplayJobState::Done => "done",
        ReplayJobState::Cancelled => "cancelled",
    }
}

async fn write(session: &Session, job: &ReplayJob) -> Result<(), Failure> {
    let text = serde_json::to_string(job)
        .map_err(|error| Failure::Rejected(format!("the job cannot be written as JSON: {error}")))?;
    let now = session.now().await?;
    session
        .execute(
            UPSERT,
            bind![uuid_of(job.id.0), state_name(job.state), now.as_micros(), text],
        )
        .await
}

/// Locks a job until the transaction ends. Returns the job and its driver.
async fn lock(session: &Session, id: ReplayJobId) -> Result<Option<(ReplayJob, Option<JobHold>)>, Failure> {
    let row = session.optional(LOCK, bind![uuid_of(id.0)]).await?;
    row.as_ref().map(read).transpose()
}

/// A job and its driver.
fn read(row: &Row) -> Result<(ReplayJob, Option<JobHold>), Failure> {
    let owner: Option<i64> = row.try_get(1)?;
    let held = owner
        .zip(optional_time_at(row, 2)?)
        .map(|(owner, until)| JobHold {
            owner: Owner(owner as u64),
            until,
        });
    Ok((parse(row.try_get(0)?)?, held))
}

async fn drive(session: &Session, id: ReplayJobId, held: JobHold) -> Result<(), Failure> {
    let (owner, until) = (held.owner.0 as i64, held.until.as_micros());
    session.execute(DRIVE, bind![uuid_of(id.0), owner, until]).await
}

pub(crate) fn parse(text: &str) -> Result<ReplayJob, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Unreadable(format!("a stored replay job cannot be read: {error}")))
}
