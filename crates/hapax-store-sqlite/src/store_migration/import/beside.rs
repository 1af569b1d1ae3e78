//! Importing records other than events: duplicates, conflicts, jobs and the audit trail.

use hapax_core::Key;
use hapax_core::store::{AuditLink, AuditNumbered, ConflictRecord, DuplicateTally, JobRecord};
use rusqlite::params;

use crate::audit;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::jobs;

pub(super) fn duplicates(desk: &Desk<'_>, key: Key, tally: &DuplicateTally) -> Result<(), Failure> {
    let gaps: Vec<u8> = tally.gaps_ms.iter().flat_map(|gap| gap.to_be_bytes()).collect();
    desk.connection
        .prepare_cached(
            "INSERT OR IGNORE INTO duplicates (key, copies, last_at, gaps) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((
            key.as_bytes(),
            tally.count as i64,
            tally.last_at.as_micros(),
            gaps,
        ))?;
    Ok(())
}

pub(super) fn conflict(desk: &mut Desk<'_>, conflict: &ConflictRecord) -> Result<(), Failure> {
    let other_body = &conflict.other_body;
    let source = desk.intern(other_body.source.as_str())?;
    desk.connection
        .prepare_cached(
            "INSERT INTO conflicts (first, raw_hash, key, source, received_at, seen, released_as, headers, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (first, raw_hash) DO NOTHING",
        )?
        .execute(params![
            other_body.first.as_bytes(),
            other_body.raw_hash.as_bytes(),
            other_body.key.as_bytes(),
            source,
            other_body.received_at.as_micros(),
            conflict.seen as i64,
            conflict.released_as.as_ref().map(hapax_core::EventId::as_bytes),
            other_body.headers.as_bytes(),
            &other_body.body[..],
        ])?;
    Ok(())
}

pub(super) fn job(desk: &Desk<'_>, record: &JobRecord) -> Result<(), Failure> {
    let job = &record.job;
    let text = serde_json::to_string(job)
        .map_err(|error| Failure::Rejected(format!("the job cannot be written as JSON: {error}")))?;
    desk.connection
        .prepare_cached("INSERT OR IGNORE INTO replays (id, state, changed_at, job) VALUES (?1, ?2, ?3, ?4)")?
        .execute((
            job.id.0.as_bytes(),
            jobs::state_name(job.state),
            record.changed_at.as_micros(),
            text,
        ))?;
    Ok(())
}

pub(super) fn audit_entry(desk: &Desk<'_>, entry: &AuditNumbered) -> Result<(), Failure> {
    let said = &entry.record.entry;
    desk.connection
        .prepare_cached(
            "INSERT OR IGNORE INTO audit (no, at, who, action, subject, detail, link)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            entry.number as i64,
            entry.record.at.as_micros(),
            &said.who,
            &said.action,
            &said.subject,
            &said.detail,
            entry.record.link.map(AuditLink::to_bytes),
        ))?;
    match entry.record.link {
        Some(link) => audit::import(desk.connection, link),
        None => Ok(()),
    }
}
