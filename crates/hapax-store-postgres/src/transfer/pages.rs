//! Pages of everything, in the order that all stores share.

use hapax_core::store::{
    AuditEntry, AuditNumbered, AuditRecord, BodyNote, JobRecord, Record, ReplayJob, ReplayJobState,
    TransferCursor, TransferPage,
};
use hapax_core::{BodyHash, Scope};

use super::identities;
use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{hash_at, id_at, time_at};
use crate::session::Session;
use crate::{jobs, pauses};

// The next over all buckets, each of which has its own range of the index.
const BODIES: &str = "
    SELECT n.scope, n.raw_hash, n.id, n.until FROM generate_series(0, 63) AS b (no)
    CROSS JOIN LATERAL (SELECT t.scope, t.raw_hash, t.id, t.until FROM hapax.bodies t
                        WHERE t.bucket = b.no::int2 AND (t.scope, t.raw_hash) > ($1::text COLLATE \"C\", $2::bytea)
                        ORDER BY t.scope, t.raw_hash LIMIT $3::int8) AS n
    ORDER BY n.scope, n.raw_hash LIMIT $3::int8";

const JOBS: &str = "SELECT job, changed_at FROM hapax.replays ORDER BY id";

const AUDIT: &str = "
    SELECT no, at, who, action, subject, detail FROM hapax.audit WHERE no > $1::int8 ORDER BY no LIMIT $2::int8";

/// The page after a place.
pub(super) async fn page(
    session: &Session,
    after: &TransferCursor,
    limit: i64,
) -> Result<TransferPage, Failure> {
    match after {
        TransferCursor::Identities(after) => identities::page(session, *after, limit).await,
        TransferCursor::Bodies(after) => bodies(session, after.as_ref(), limit).await,
        TransferCursor::Pauses => {
            let pauses = pauses::pauses(session).await?;
            Ok(TransferPage {
                records: pauses.into_iter().map(Record::Pause).collect(),
                next: Some(TransferCursor::Jobs),
            })
        }
        TransferCursor::Jobs => Ok(TransferPage {
            records: jobs(session).await?,
            next: Some(TransferCursor::Audit(0)),
        }),
        TransferCursor::Audit(after) => audit(session, *after, limit).await,
    }
}

async fn bodies(
    session: &Session,
    after: Option<&(Scope, BodyHash)>,
    limit: i64,
) -> Result<TransferPage, Failure> {
    let scope = after.map_or("", |(scope, _)| scope.as_str());
    let hash: &[u8] = after.map_or(&[], |(_, hash)| hash.as_bytes());
    let rows = session.rows(BODIES, bind![scope, hash, limit]).await?;
    let mut next = TransferCursor::Pauses;
    let mut records = Vec::with_capacity(rows.len());
    for row in &rows {
        let note = BodyNote {
            scope: row.try_get::<_, &str>(0)?.into(),
            raw_hash: hash_at(row, 1)?,
            id: id_at(row, 2)?,
            until: time_at(row, 3)?,
        };
        if records.len() as i64 + 1 == limit {
            next = TransferCursor::Bodies(Some((note.scope.clone(), note.raw_hash)));
        }
        records.push(Record::Body(note));
    }
    Ok(TransferPage {
        records,
        next: Some(next),
    })
}

async fn jobs(session: &Session) -> Result<Vec<Record>, Failure> {
    let rows = session.rows(JOBS, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Record::Job(Box::new(JobRecord {
                job: from_its_beginning(jobs::parse(row.try_get(0)?)?),
                changed_at: time_at(row, 1)?,
            })))
        })
        .collect()
}

/// Another store has other cursors. What the job has put back, it does not put back again.
fn from_its_beginning(job: ReplayJob) -> ReplayJob {
    match job.state {
        ReplayJobState::Running => ReplayJob { cursor: None, ..job },
        ReplayJobState::Done | ReplayJobState::Cancelled => job,
    }
}

async fn audit(session: &Session, after: u64, limit: i64) -> Result<TransferPage, Failure> {
    let rows = session.rows(AUDIT, bind![after as i64, limit]).await?;
    let mut last = after;
    let mut records = Vec::with_capacity(rows.len());
    for row in &rows {
        last = row.try_get::<_, i64>(0)? as u64;
        records.push(Record::Audit(AuditNumbered {
            number: last,
            record: AuditRecord {
                at: time_at(row, 1)?,
                entry: AuditEntry {
                    who: row.try_get(2)?,
                    action: row.try_get(3)?,
                    subject: row.try_get(4)?,
                    detail: row.try_get(5)?,
                },
            },
        }));
    }
    let next = (records.len() as i64 == limit).then_some(TransferCursor::Audit(last));
    Ok(TransferPage { records, next })
}
