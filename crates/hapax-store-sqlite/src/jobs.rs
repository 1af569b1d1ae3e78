//! Replay jobs: stored, so that they resume after a restart.

use hapax_core::EventId;
use hapax_core::store::{Cursor, Driver, ReplayJob, ReplayJobId, ReplayJobState};
use rusqlite::{Connection, OptionalExtension};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;

/// The maximum number of unfinished jobs: each runs at a rate, and more would only queue up.
const UNFINISHED_MAX: u32 = 1_000;

/// The maximum number of jobs per page.
const PAGE_MAX: u32 = 1_000;

pub(crate) fn create_replay(desk: &mut Desk<'_>, job: &ReplayJob) -> Result<(), Failure> {
    write(desk, job)
}

pub(crate) fn replay_job(desk: &mut ReadDesk, id: ReplayJobId) -> Result<Option<ReplayJob>, Failure> {
    read(&desk.connection, id.0)
}

/// A page of jobs, newest first.
pub(crate) fn replay_jobs(
    desk: &mut ReadDesk,
    after: Option<Cursor>,
    limit: u32,
) -> Result<(Vec<ReplayJob>, Option<Cursor>), Failure> {
    let limit = limit.min(PAGE_MAX) as usize;
    let before = after.map_or(i64::MAX, |Cursor(number)| {
        i64::try_from(number).unwrap_or(i64::MAX)
    });
    let mut select = desk
        .connection
        .prepare_cached("SELECT no, job FROM replays WHERE no < ?1 ORDER BY no DESC LIMIT ?2")?;
    let mut rows = select.query((before, limit as i64 + 1))?;
    let mut jobs = Vec::new();
    let mut last = None;
    while let Some(row) = rows.next()? {
        if jobs.len() == limit {
            return Ok((jobs, last));
        }
        jobs.push(parse(&row.get::<_, String>(1)?)?);
        last = Some(Cursor(row.get::<_, i64>(0)? as u64));
    }
    Ok((jobs, None))
}

/// Unfinished jobs, oldest first.
pub(crate) fn unfinished_replays(desk: &mut ReadDesk) -> Result<Vec<ReplayJob>, Failure> {
    unfinished(&desk.connection)
}

fn unfinished(connection: &Connection) -> Result<Vec<ReplayJob>, Failure> {
    let mut select =
        connection.prepare_cached("SELECT job FROM replays WHERE state = ?1 ORDER BY id LIMIT ?2")?;
    let mut rows = select.query((state_name(ReplayJobState::Running), UNFINISHED_MAX))?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        jobs.push(parse(&row.get::<_, String>(0)?)?);
    }
    Ok(jobs)
}

/// Claims a job, or renews the claim.
pub(crate) fn claim_replay(
    desk: &mut Desk<'_>,
    (id, driver): &(ReplayJobId, Driver),
) -> Result<Option<ReplayJob>, Failure> {
    let now = desk.now();
    let held = |job: &ReplayJob| desk.state.drivers.get(&job.id).copied();
    let unfinished: Vec<_> = unfinished(desk.connection)?
        .into_iter()
        .map(|job| {
            let held = held(&job);
            (job, held)
        })
        .collect();
    if !driver.may_take(*id, &unfinished, now) {
        return Ok(None);
    }
    desk.state.drivers.insert(*id, driver.hold(now));
    Ok(unfinished
        .into_iter()
        .map(|(job, _)| job)
        .find(|job| job.id == *id))
}

/// Stores progress, unless the job was cancelled or claimed by another driver in the meantime.
pub(crate) fn advance_replay(
    desk: &mut Desk<'_>,
    (job, driver): &(ReplayJob, Driver),
) -> Result<bool, Failure> {
    if !driver.may_write(desk.state.drivers.get(&job.id).copied()) {
        return Ok(false);
    }
    match read(desk.connection, job.id.0)?.map(|known| known.state) {
        Some(ReplayJobState::Running | ReplayJobState::Done) => {
            write(desk, job)?;
            keep(desk, job, *driver);
            Ok(true)
        }
        Some(ReplayJobState::Cancelled) | None => Ok(false),
    }
}

/// Cancels an unfinished job.
pub(crate) fn cancel_replay(desk: &mut Desk<'_>, id: &ReplayJobId) -> Result<bool, Failure> {
    match read(desk.connection, id.0)? {
        Some(job) if job.state == ReplayJobState::Running => {
            let cancelled = ReplayJob {
                state: ReplayJobState::Cancelled,
                ..job
            };
            write(desk, &cancelled)?;
            Ok(true)
        }
        Some(_) | None => Ok(false),
    }
}

/// Remembers which driver holds a job until the job ends.
fn keep(desk: &mut Desk<'_>, job: &ReplayJob, driver: Driver) {
    let now = desk.now();
    match job.state {
        ReplayJobState::Running => desk.state.drivers.insert(job.id, driver.hold(now)),
        ReplayJobState::Done | ReplayJobState::Cancelled => desk.state.drivers.remove(&job.id),
    };
}

/// The column value of a state.
pub(crate) const fn state_name(state: ReplayJobState) -> &'static str {
    match state {
        ReplayJobState::Running => "running",
        ReplayJobState::Done => "done",
        ReplayJobState::Cancelled => "cancelled",
    }
}

fn write(desk: &mut Desk<'_>, job: &ReplayJob) -> Result<(), Failure> {
    let text = serde_json::to_string(job)
        .map_err(|error| Failure::Rejected(format!("the job cannot be written as JSON: {error}")))?;
    let now = desk.now();
    desk.connection
        .prepare_cached(
            "INSERT INTO replays (id, state, changed_at, job) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (id) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at,
                                            job = excluded.job",
        )?
        .execute((job.id.0.as_bytes(), state_name(job.state), now.as_micros(), text))?;
    Ok(())
}

fn read(connection: &Connection, id: EventId) -> Result<Option<ReplayJob>, Failure> {
    let text: Option<String> = connection
        .prepare_cached("SELECT job FROM replays WHERE id = ?1")?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()?;
    text.map(|text| parse(&text)).transpose()
}

pub(crate) fn parse(text: &str) -> Result<ReplayJob, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Unreadable(format!("a stored replay job cannot be read: {error}")))
}
