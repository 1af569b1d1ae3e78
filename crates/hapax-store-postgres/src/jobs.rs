//! Bulk replays: stored, so that they go on after a restart, on whichever replica.

use hapax_core::store::{ReplayJob, ReplayJobId, ReplayJobState};

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::uuid_of;
use crate::session::Session;

/// Jobs that are not over, at most: each runs at a rate, and more would only queue up.
const UNFINISHED_MAX: i64 = 1_000;

const UPSERT: &str = "
    INSERT INTO hapax.replays (id, state, changed_at, job) VALUES ($1::uuid, $2::text, $3::int8, $4::text)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at, job = excluded.job";

const SELECT: &str = "SELECT job FROM hapax.replays WHERE id = $1::uuid";

const LOCK: &str = "SELECT job FROM hapax.replays WHERE id = $1::uuid FOR UPDATE";

const UNFINISHED: &str = "
    SELECT job FROM hapax.replays WHERE state = $1::text ORDER BY id LIMIT $2::int8";

/// Stores a new job.
pub(crate) async fn create_replay(session: &Session, job: &ReplayJob) -> Result<(), Failure> {
    session.begin().await?;
    write(session, job).await?;
    session.commit().await
}

/// One job.
pub(crate) async fn replay_job(session: &Session, id: ReplayJobId) -> Result<Option<ReplayJob>, Failure> {
    read(session, SELECT, id).await
}

/// Jobs that are not over, oldest first.
pub(crate) async fn unfinished_replays(session: &Session) -> Result<Vec<ReplayJob>, Failure> {
    let running = state_name(ReplayJobState::Running);
    let rows = session.rows(UNFINISHED, bind![running, UNFINISHED_MAX]).await?;
    rows.iter().map(|row| parse(row.try_get(0)?)).collect()
}

/// Writes progress, unless the job was cancelled meanwhile.
pub(crate) async fn advance_replay(session: &Session, job: &ReplayJob) -> Result<bool, Failure> {
    session.begin().await?;
    let known = read(session, LOCK, job.id).await?;
    let written = match known.map(|known| known.state) {
        Some(ReplayJobState::Running | ReplayJobState::Done) => {
            write(session, job).await?;
            true
        }
        Some(ReplayJobState::Cancelled) | None => false,
    };
    session.commit().await?;
    Ok(written)
}

/// Cancels a job that is not over.
pub(crate) async fn cancel_replay(session: &Session, id: ReplayJobId) -> Result<bool, Failure> {
    session.begin().await?;
    let cancelled = match read(session, LOCK, id).await? {
        Some(job) if job.state == ReplayJobState::Running => {
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

async fn read(session: &Session, sql: &'static str, id: ReplayJobId) -> Result<Option<ReplayJob>, Failure> {
    let row = session.optional(sql, bind![uuid_of(id.0)]).await?;
    row.map(|row| parse(row.try_get(0)?)).transpose()
}

pub(crate) fn parse(text: &str) -> Result<ReplayJob, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Unreadable(format!("a stored bulk replay cannot be read: {error}")))
}
