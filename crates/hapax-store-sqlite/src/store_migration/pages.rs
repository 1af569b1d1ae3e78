//! Pages of all records, in the order that all stores share.

use hapax_core::store::{
    AuditEntry, AuditNumbered, AuditRecord, BodyNote, JobRecord, MigrationCursor, MigrationPage,
    PAGE_BYTES_MAX, Record, ReplayJob, ReplayJobState,
};
use hapax_core::{BodyHash, Key, Scope};

use super::identity;
use crate::audit::link_at;
use crate::failure::Failure;
use crate::jobs;
use crate::ledger;
use crate::pauses;
use crate::reader::ReadDesk;
use crate::rows::{hash_at, id_at, time_at};

/// The page after a position.
pub(super) fn page(
    desk: &mut ReadDesk,
    after: &MigrationCursor,
    limit: usize,
) -> Result<MigrationPage, Failure> {
    match after {
        MigrationCursor::Identities(after) => identities(desk, *after, limit),
        MigrationCursor::Bodies(after) => bodies(desk, after.as_ref(), limit),
        MigrationCursor::Pauses => Ok(MigrationPage {
            records: pauses::pauses(desk)?.into_iter().map(Record::Pause).collect(),
            next: Some(MigrationCursor::Jobs),
        }),
        MigrationCursor::Jobs => Ok(MigrationPage {
            records: jobs(desk)?,
            next: Some(MigrationCursor::Audit(0)),
        }),
        MigrationCursor::Audit(after) => audit(desk, *after, limit),
    }
}

fn identities(desk: &mut ReadDesk, after: Option<Key>, limit: usize) -> Result<MigrationPage, Failure> {
    let keys = ledger::keys_after(desk, after, limit)?;
    let mut records = Vec::with_capacity(keys.len());
    let mut bytes = 0;
    for key in &keys {
        let record = Record::Identity(Box::new(identity::read(desk, *key)?));
        bytes += record.payload_bytes();
        records.push(record);
        if bytes > PAGE_BYTES_MAX {
            break;
        }
    }
    // A page that is full, by count or by bytes, may be followed by others.
    let next = match keys.get(records.len().saturating_sub(1)) {
        Some(last) if records.len() == limit || records.len() < keys.len() => {
            MigrationCursor::Identities(Some(*last))
        }
        Some(_) | None => MigrationCursor::Bodies(None),
    };
    Ok(MigrationPage {
        records,
        next: Some(next),
    })
}

/// Bodies by scope and hash. Scopes are few and stored in the order of their numbers, so they are walked by name.
fn bodies(
    desk: &mut ReadDesk,
    after: Option<&(Scope, BodyHash)>,
    limit: usize,
) -> Result<MigrationPage, Failure> {
    let from = after.map_or("", |(scope, _)| scope.as_str());
    let mut select = desk
        .connection
        .prepare_cached("SELECT no, name FROM names WHERE name >= ?1 ORDER BY name")?;
    let scopes: Vec<(i64, String)> = select
        .query_map([from], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut records = Vec::new();
    for (number, name) in scopes {
        let scope = Scope::from(name);
        let after = after.filter(|(known, _)| *known == scope).map(|(_, hash)| hash);
        bodies_of(desk, number, &scope, after, limit, &mut records)?;
        if records.len() >= limit {
            break;
        }
    }
    let next = match records.last() {
        Some(Record::Body(last)) if records.len() >= limit => {
            MigrationCursor::Bodies(Some((last.scope.clone(), last.raw_hash)))
        }
        Some(_) | None => MigrationCursor::Pauses,
    };
    Ok(MigrationPage {
        records,
        next: Some(next),
    })
}

fn bodies_of(
    desk: &ReadDesk,
    number: i64,
    scope: &Scope,
    after: Option<&BodyHash>,
    limit: usize,
    records: &mut Vec<Record>,
) -> Result<(), Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT raw_hash, id, until FROM bodies WHERE scope = ?1 AND raw_hash > ?2 ORDER BY raw_hash LIMIT ?3",
    )?;
    let after: &[u8] = after.map_or(&[], |hash| hash.as_bytes());
    let mut rows = select.query((number, after, (limit - records.len()) as i64))?;
    while let Some(row) = rows.next()? {
        records.push(Record::Body(BodyNote {
            scope: scope.clone(),
            raw_hash: hash_at(row, 0)?,
            id: id_at(row, 1)?,
            until: time_at(row, 2)?,
        }));
    }
    Ok(())
}

fn jobs(desk: &ReadDesk) -> Result<Vec<Record>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT job, changed_at FROM replays ORDER BY id")?;
    let mut rows = select.query([])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let job = jobs::parse(&row.get::<_, String>(0)?)?;
        records.push(Record::Job(Box::new(JobRecord {
            job: from_its_beginning(job),
            changed_at: time_at(row, 1)?,
        })));
    }
    Ok(records)
}

/// Cursors do not carry over to another store. The job does not replay a delivery twice, so it may start again.
fn from_its_beginning(job: ReplayJob) -> ReplayJob {
    match job.state {
        ReplayJobState::Running => ReplayJob { cursor: None, ..job },
        ReplayJobState::Done | ReplayJobState::Cancelled => job,
    }
}

fn audit(desk: &ReadDesk, after: u64, limit: usize) -> Result<MigrationPage, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT no, at, who, action, subject, detail, link FROM audit WHERE no > ?1 ORDER BY no LIMIT ?2",
    )?;
    let mut rows = select.query((after as i64, limit as i64))?;
    let mut records = Vec::new();
    let mut last = after;
    while let Some(row) = rows.next()? {
        last = row.get::<_, i64>(0)? as u64;
        records.push(Record::Audit(AuditNumbered {
            number: last,
            record: AuditRecord {
                at: time_at(row, 1)?,
                entry: AuditEntry {
                    who: row.get(2)?,
                    action: row.get(3)?,
                    subject: row.get(4)?,
                    detail: row.get(5)?,
                },
                link: link_at(row, 6)?,
            },
        }));
    }
    let next = (records.len() == limit).then_some(MigrationCursor::Audit(last));
    Ok(MigrationPage { records, next })
}
