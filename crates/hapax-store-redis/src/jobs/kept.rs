//! A job as it is stored, and how it is read and changed.

use hapax_core::store::{Driver, JobHold, JobRecord, ReplayJob, ReplayJobId, ReplayJobState};
use hapax_core::{Owner, Timestamp};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::link::Link;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};
use crate::{json, reply};

/// Id → job.
pub(crate) const JOBS: &str = "J";
/// Ids in order of creation.
pub(super) const CREATED: &str = "N";
/// Ids of unfinished jobs.
pub(super) const UNFINISHED: &str = "U";

/// A job and its driver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) job: ReplayJob,
    pub(crate) changed_at: Timestamp,
    /// The driver, and until when it holds the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<(u64, Timestamp)>,
}

impl Kept {
    pub(super) const fn driven_by_nobody(job: ReplayJob, changed_at: Timestamp) -> Self {
        Self {
            job,
            changed_at,
            held: None,
        }
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Failure> {
        json::read(bytes, "a replay job")
    }

    pub(super) fn hold(&self) -> Option<JobHold> {
        self.held.map(|(owner, until)| JobHold {
            owner: Owner(owner),
            until,
        })
    }

    /// The job held by a driver, unless it has ended.
    pub(super) fn driven_by(self, driver: Driver, now: Timestamp) -> Self {
        let held = match self.job.state {
            ReplayJobState::Running => {
                let hold = driver.hold(now);
                Some((hold.owner.0, hold.until))
            }
            ReplayJobState::Done | ReplayJobState::Cancelled => None,
        };
        Self { held, ..self }
    }

    /// Writes it, and whether it has ended.
    pub(super) fn write(&self, change: &mut Change) -> Result<(), Failure> {
        let id = *self.job.id.0.as_bytes();
        change.then(Command::new("HSET", JOBS).arg(id).arg(json::write(self)?));
        change.then(match self.job.state {
            ReplayJobState::Running => Command::new("ZADD", UNFINISHED).number(0).arg(id),
            ReplayJobState::Done | ReplayJobState::Cancelled => Command::new("ZREM", UNFINISHED).arg(id),
        });
        Ok(())
    }
}

/// The change that stores a job without a driver. Greater numbers are newer.
pub(crate) fn keep(record: JobRecord, number: u64) -> Result<Change, Failure> {
    let created = Command::new("ZADD", CREATED).arg("NX").number(number);
    let mut change = Change::default();
    change.then(created.arg(*record.job.id.0.as_bytes()));
    Kept::driven_by_nobody(record.job, record.changed_at).write(&mut change)?;
    Ok(change)
}

/// Changes a job if `decide` says so and no other process was faster. Returns the job as it is then.
pub(super) async fn change(
    link: &Link,
    id: ReplayJobId,
    decide: impl Fn(Kept, Timestamp) -> Option<Kept> + Send,
) -> Result<Option<ReplayJob>, Failure> {
    let id = *id.0.as_bytes();
    for _ in 0..ROUNDS_MAX {
        let command = Command::new("HGET", JOBS).arg(id);
        let mut snapshot = link.read(HOME, vec![command]).await?;
        let Some(bytes) = reply::optional_bytes(snapshot.next()?)? else {
            return Ok(None);
        };
        let Some(next) = decide(Kept::read(&bytes)?, snapshot.now) else {
            return Ok(None);
        };
        let mut change = Change::default().when(JOBS, id, bytes);
        next.write(&mut change)?;
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(Some(next.job));
        }
    }
    Err(Failure::Contended)
}

/// The jobs that exist, each with the bytes that it was read from.
pub(super) async fn read_all(link: &Link, ids: Vec<Vec<u8>>) -> Result<Vec<(Vec<u8>, Kept)>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let command = ids.into_iter().fold(Command::new("HMGET", JOBS), Command::arg);
    let found = reply::list(link.read(HOME, vec![command]).await?.next()?)?;
    let mut jobs = Vec::with_capacity(found.len());
    for bytes in found {
        if let Some(bytes) = reply::optional_bytes(bytes)? {
            let kept = Kept::read(&bytes)?;
            jobs.push((bytes, kept));
        }
    }
    Ok(jobs)
}
