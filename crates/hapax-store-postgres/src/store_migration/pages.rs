//! Pages of all records, in the order that all stores share.

use hapax_core::store::{
    AuditEntry, AuditNumbered, AuditRecord, BodyNote, JobRecord, MigrationCursor, MigrationPage, Record,
    ReplayJob, ReplayJobState,
};
use hapax_core::{BodyHash, Scope};
use tokio_postgres::Row;

use super::identities;
use crate::audit::link_at;
use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{BUCKETS, hash_at, id_at, time_at};
use crate::session::Session;
use crate::{jobs, pauses};

// The next bodies of each bucket, which has its own range of the index.
const BODIES: &str = "
    SELECT k.scope, k.raw_hash, k.id, k.until
    FROM {n} CROSS JOIN LATERAL (SELECT t.scope, t.raw_hash, t.id, t.until FROM hapax.bodies t
                                 WHERE t.bucket = {one bucket}
                                   AND (t.scope, t.raw_hash) > (n.scope COLLATE \"C\", n.raw_hash)
                                 ORDER BY t.scope, t.raw_hash LIMIT $4::int8) AS k
    ORDER BY k.scope, k.raw_hash LIMIT $4::int8";

const JOBS: &str = "SELECT job, changed_at FROM hapax.replays ORDER BY id";

const AUDIT: &str = "
    SELECT no, at, who, action, subject, detail, link FROM hapax.audit WHERE no > $1::int8 ORDER BY no LIMIT $2::int8";

/// The page after a position.
pub(super) async fn page(
    session: &Session,
    after: &MigrationCursor,
    limit: i64,
) -> Result<MigrationPage, Failure> {
    match after {
        MigrationCursor::Identities(after) => identities::page(session, *after, limit).await,
        MigrationCursor::Bodies(after) => bodies(session, after.as_ref(), limit).await,
        MigrationCursor::Pauses => {
            let pauses = pauses::pauses(session).await?;
            Ok(MigrationPage {
                records: pauses.into_iter().map(Record::Pause).collect(),
                next: Some(MigrationCursor::Jobs),
            })
        }
        MigrationCursor::Jobs => Ok(MigrationPage {
            records: jobs(session).await?,
            next: Some(MigrationCursor::Audit(0)),
        }),
        MigrationCursor::Audit(after) => audit(session, *after, limit).await,
    }
}

async fn bodies(
    session: &Session,
    after: Option<&(Scope, BodyHash)>,
    limit: i64,
) -> Result<MigrationPage, Failure> {
    let scope = after.map_or("", |(scope, _)| scope.as_str());
    let hash: &[u8] = after.map_or(&[], |(_, hash)| hash.as_bytes());
    let places = Batch::in_buckets(BUCKETS)
        .same("scope", scope)
        .same("raw_hash", hash);
    let rows = session.over(BODIES, &places.value(limit)).await?;
    let mut notes = rows.iter().map(note).collect::<Result<Vec<_>, _>>()?;
    // If buckets were queried one by one, each returned its own.
    notes.sort_unstable_by(|one, other| place(one).cmp(&place(other)));
    notes.truncate(limit as usize);
    let next = match notes.last() {
        Some(last) if notes.len() as i64 == limit => {
            MigrationCursor::Bodies(Some((last.scope.clone(), last.raw_hash)))
        }
        Some(_) | None => MigrationCursor::Pauses,
    };
    Ok(MigrationPage {
        records: notes.into_iter().map(Record::Body).collect(),
        next: Some(next),
    })
}

fn note(row: &Row) -> Result<BodyNote, Failure> {
    Ok(BodyNote {
        scope: row.try_get::<_, &str>(0)?.into(),
        raw_hash: hash_at(row, 1)?,
        id: id_at(row, 2)?,
        until: time_at(row, 3)?,
    })
}

/// The order in which bodies are exported.
fn place(note: &BodyNote) -> (&str, &[u8]) {
    (note.scope.as_str(), note.raw_hash.as_bytes())
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

/// Cursors do not carry over to another store. The job does not replay a delivery twice, so it may start again.
fn from_its_beginning(job: ReplayJob) -> ReplayJob {
    match job.state {
        ReplayJobState::Running => ReplayJob { cursor: None, ..job },
        ReplayJobState::Done | ReplayJobState::Cancelled => job,
    }
}

async fn audit(session: &Session, after: u64, limit: i64) -> Result<MigrationPage, Failure> {
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
                link: link_at(row, 6)?,
            },
        }));
    }
    let next = (records.len() as i64 == limit).then_some(MigrationCursor::Audit(last));
    Ok(MigrationPage { records, next })
}
