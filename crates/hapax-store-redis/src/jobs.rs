//! Replay jobs: stored, so that they resume after a restart. In the first shard.

mod kept;

use std::time::Duration;

use hapax_core::store::{Cursor, Driver, JobRecord, ReplayJob, ReplayJobId, ReplayJobState};
use redis::Value;

use crate::failure::Failure;
use crate::link::Link;
use crate::reply;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};
use kept::{CREATED, UNFINISHED, change, read_all};

pub(crate) use kept::{JOBS, Kept, keep};

/// The maximum number of unfinished jobs: each runs at a rate, and more would only queue up.
const UNFINISHED_MAX: u32 = 1_000;
/// The maximum number of jobs per page.
const PAGE_MAX: u32 = 1_000;
/// Jobs that one call of `purge` examines.
const PURGED_MAX: u32 = 1_000;

pub(crate) async fn create(link: &Link, job: ReplayJob) -> Result<(), Failure> {
    let snapshot = link.read_and_take(HOME, Vec::new(), 1).await?;
    let changed_at = snapshot.now;
    let change = keep(JobRecord { job, changed_at }, snapshot.numbers.at(0))?;
    link.apply_one(HOME, change).await?;
    Ok(())
}

pub(crate) async fn get(link: &Link, id: ReplayJobId) -> Result<Option<ReplayJob>, Failure> {
    let found = read_all(link, vec![id.0.as_bytes().to_vec()]).await?;
    Ok(found.into_iter().next().map(|(_, kept)| kept.job))
}

/// A page of jobs, newest first.
pub(crate) async fn list(
    link: &Link,
    after: Option<Cursor>,
    limit: u32,
) -> Result<(Vec<ReplayJob>, Option<Cursor>), Failure> {
    let limit = limit.min(PAGE_MAX) as usize;
    let before = after.map_or_else(|| "+inf".to_owned(), |Cursor(number)| format!("({number}"));
    let command = Command::new("ZREVRANGEBYSCORE", CREATED)
        .arg(before)
        .arg("-inf")
        .arg("WITHSCORES")
        .arg("LIMIT")
        .number(0)
        .number(limit + 1);
    let mut found = reply::pairs(link.read(HOME, vec![command]).await?.next()?)?;
    let is_last = found.len() <= limit;
    found.truncate(limit);
    let last = match found.last() {
        Some((_, number)) => Some(Cursor(reply::number(Value::BulkString(number.clone()))?)),
        None => None,
    };
    let jobs = read_all(link, found.into_iter().map(|(id, _)| id).collect()).await?;
    let jobs = jobs.into_iter().map(|(_, kept)| kept.job).collect();
    Ok((jobs, last.filter(|_| !is_last)))
}

/// Unfinished jobs, oldest first.
pub(crate) async fn unfinished(link: &Link) -> Result<Vec<ReplayJob>, Failure> {
    let jobs = unfinished_kept(link).await?.into_iter();
    Ok(jobs.map(|(_, kept)| kept.job).collect())
}

async fn unfinished_kept(link: &Link) -> Result<Vec<(Vec<u8>, Kept)>, Failure> {
    let command = Command::new("ZRANGE", UNFINISHED)
        .number(0)
        .number(UNFINISHED_MAX - 1);
    let mut jobs = read_all(link, ids(link, command).await?).await?;
    jobs.retain(|(_, kept)| kept.job.state == ReplayJobState::Running);
    Ok(jobs)
}

/// Claims a job, or renews the claim.
pub(crate) async fn claim(
    link: &Link,
    id: ReplayJobId,
    driver: Driver,
) -> Result<Option<ReplayJob>, Failure> {
    for _ in 0..ROUNDS_MAX {
        let known = unfinished_kept(link).await?;
        let now = link.read(HOME, Vec::new()).await?.now;
        let unfinished: Vec<_> = known
            .iter()
            .map(|(_, kept)| (kept.job.clone(), kept.hold()))
            .collect();
        if !driver.may_take(id, &unfinished, now) {
            return Ok(None);
        }
        // Unless another driver has claimed one of them in the meantime.
        let mut change = Change::default();
        let mut taken = None;
        for (bytes, kept) in known {
            change = change.when(JOBS, *kept.job.id.0.as_bytes(), bytes);
            if kept.job.id == id {
                taken = Some(kept.driven_by(driver, now));
            }
        }
        let Some(taken) = taken else {
            return Ok(None);
        };
        taken.write(&mut change)?;
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(Some(taken.job));
        }
    }
    Err(Failure::Contended)
}

/// Stores progress, unless the job was cancelled or claimed by another driver in the meantime. Returns whether it did.
pub(crate) async fn advance(link: &Link, job: &ReplayJob, driver: Driver) -> Result<bool, Failure> {
    let written = change(link, job.id, |kept, now| {
        let may = match kept.job.state {
            ReplayJobState::Running | ReplayJobState::Done => driver.may_write(kept.hold()),
            ReplayJobState::Cancelled => false,
        };
        may.then(|| Kept::driven_by_nobody(job.clone(), now).driven_by(driver, now))
    })
    .await?;
    Ok(written.is_some())
}

/// Cancels an unfinished job. Returns whether it was running.
pub(crate) async fn cancel(link: &Link, id: ReplayJobId) -> Result<bool, Failure> {
    let state = ReplayJobState::Cancelled;
    let cancelled = change(link, id, |kept, now| {
        let was_running = kept.job.state == ReplayJobState::Running;
        was_running.then(|| Kept::driven_by_nobody(ReplayJob { state, ..kept.job }, now))
    })
    .await?;
    Ok(cancelled.is_some())
}

/// Deletes finished jobs whose retention has ended.
pub(crate) async fn purge(link: &Link, keep_for: Duration) -> Result<(), Failure> {
    let command = Command::new("ZRANGE", CREATED).number(0).number(PURGED_MAX - 1);
    let jobs = read_all(link, ids(link, command).await?).await?;
    let before = link.read(HOME, Vec::new()).await?.now.minus(keep_for);
    for (bytes, kept) in jobs {
        if kept.job.state != ReplayJobState::Running && kept.changed_at < before {
            let id = *kept.job.id.0.as_bytes();
            let mut change = Change::default().when(JOBS, id, bytes);
            change.then(Command::new("HDEL", JOBS).arg(id));
            change.then(Command::new("ZREM", CREATED).arg(id));
            link.apply_one(HOME, change).await?;
        }
    }
    Ok(())
}

async fn ids(link: &Link, command: Command) -> Result<Vec<Vec<u8>>, Failure> {
    let ids = reply::list(link.read(HOME, vec![command]).await?.next()?)?;
    ids.into_iter().map(reply::bytes).collect()
}
