//! Pages of all records, in the order that all stores share.

use std::sync::Arc;

use hapax_core::store::{JobRecord, MigrationCursor, MigrationPage, Record, ReplayJob, ReplayJobState};

use super::{bodies, identities};
use crate::audit::{self, TRAIL};
use crate::failure::Failure;
use crate::jobs::{JOBS, Kept};
use crate::link::Link;
use crate::shards::HOME;
use crate::snapshot::Command;
use crate::{pauses, reply};

/// The page after a position.
pub(super) async fn page(
    link: &Arc<Link>,
    after: &MigrationCursor,
    limit: usize,
) -> Result<MigrationPage, Failure> {
    let limit = limit.max(1);
    match after {
        MigrationCursor::Identities(after) => identities::page(link, *after, limit).await,
        MigrationCursor::Bodies(after) => bodies::page(link, after.as_ref(), limit).await,
        MigrationCursor::Pauses => {
            let pauses = pauses::pauses(link).await?;
            Ok(MigrationPage {
                records: pauses.into_iter().map(Record::Pause).collect(),
                next: Some(MigrationCursor::Jobs),
            })
        }
        MigrationCursor::Jobs => Ok(MigrationPage {
            records: jobs(link).await?,
            next: Some(MigrationCursor::Audit(0)),
        }),
        MigrationCursor::Audit(after) => audit(link, *after, limit).await,
    }
}

async fn jobs(link: &Link) -> Result<Vec<Record>, Failure> {
    let jobs = link
        .read(HOME, vec![Command::new("HGETALL", JOBS)])
        .await?
        .next()?;
    let mut jobs = reply::pairs(jobs)?;
    jobs.sort_unstable();
    jobs.iter()
        .map(|(_, kept)| {
            let kept = Kept::read(kept)?;
            Ok(Record::Job(Box::new(JobRecord {
                job: from_its_beginning(kept.job),
                changed_at: kept.changed_at,
            })))
        })
        .collect()
}

/// Cursors do not carry over to another store. The job does not replay a delivery twice, so it may start again.
fn from_its_beginning(job: ReplayJob) -> ReplayJob {
    match job.state {
        ReplayJobState::Running => ReplayJob { cursor: None, ..job },
        ReplayJobState::Done | ReplayJobState::Cancelled => job,
    }
}

async fn audit(link: &Link, after: u64, limit: usize) -> Result<MigrationPage, Failure> {
    let command = Command::new("ZRANGEBYSCORE", TRAIL)
        .arg(format!("({after}"))
        .arg("+inf")
        .arg("LIMIT")
        .number(0)
        .number(limit);
    let entries = reply::list(link.read(HOME, vec![command]).await?.next()?)?;
    let mut last = after;
    let mut records = Vec::with_capacity(entries.len());
    for entry in entries {
        let entry = audit::read(&reply::bytes(entry)?)?;
        last = entry.number;
        records.push(Record::Audit(entry));
    }
    let next = (records.len() == limit).then_some(MigrationCursor::Audit(last));
    Ok(MigrationPage { records, next })
}
