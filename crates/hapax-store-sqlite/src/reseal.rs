//! Re-encryption: rows are rewritten, each only if it is still as it was read.

use hapax_core::store::{AttemptView, ConflictingBody, LedgerEntry, Resealed};
use hapax_core::{EventId, Key, StoredEvent};
use rusqlite::params;

use crate::bodies;
use crate::desk::{Desk, find_event};
use crate::erase::overwrite;
use crate::failure::Failure;
use crate::ledger;

/// Rewrites rows and overwrites their previous content.
pub(crate) fn reseal(desk: &mut Desk<'_>, rows: &[Resealed]) -> Result<(), Failure> {
    overwrite(desk, true)?;
    let resealed = rows.iter().try_for_each(|row| reseal_one(desk, row));
    overwrite(desk, false)?;
    resealed
}

fn reseal_one(desk: &mut Desk<'_>, row: &Resealed) -> Result<(), Failure> {
    match row {
        Resealed::Entry { key, before, after } => entry(desk, *key, before, after),
        Resealed::Event { before, after } => event(desk, before, after),
        Resealed::Indexed { event, before, after } => {
            let Some(seq) = find_event(desk.connection, *event)? else {
                return Ok(());
            };
            let (old, new) = (desk.intern(&before.pointer)?, desk.intern(&after.pointer)?);
            desk.connection
                .prepare_cached(
                    "UPDATE OR IGNORE indexed SET pointer = ?1, digest = ?2
                     WHERE pointer = ?3 AND digest = ?4 AND seq = ?5",
                )?
                .execute((new, after.digest, old, before.digest, seq))?;
            Ok(())
        }
        Resealed::Attempt { event, before, after } => attempt(desk, *event, before, after),
        Resealed::Conflict { before, after } => conflict(desk, before, after),
        Resealed::Body { before, after } => bodies::rename(desk, before, after),
    }
}

fn entry(desk: &mut Desk<'_>, key: Key, before: &LedgerEntry, after: &LedgerEntry) -> Result<(), Failure> {
    let content = after.content_hash.as_ref();
    let rule = content.map(|content| desk.intern(&content.rule)).transpose()?;
    let no = ledger::find(desk, key)?;
    desk.connection
        .prepare_cached(
            "UPDATE ledger SET raw_hash = ?1, content_rule = ?2, content_hash = ?3
             WHERE no = ?4 AND id = ?5 AND raw_hash = ?6",
        )?
        .execute(params![
            after.raw_hash.as_bytes(),
            rule,
            content.map(|content| content.hash.as_bytes()),
            no,
            before.id.as_bytes(),
            before.raw_hash.as_bytes(),
        ])?;
    Ok(())
}

fn event(desk: &Desk<'_>, before: &StoredEvent, after: &StoredEvent) -> Result<(), Failure> {
    let Some(seq) = find_event(desk.connection, before.id)? else {
        return Ok(());
    };
    desk.connection
        .prepare_cached(
            "UPDATE events SET headers = ?1, body = ?2, raw_hash = ?3 WHERE seq = ?4 AND headers = ?5",
        )?
        .execute((
            after.headers.as_bytes(),
            &after.body[..],
            after.raw_hash.as_bytes(),
            seq,
            before.headers.as_bytes(),
        ))?;
    Ok(())
}

fn attempt(
    desk: &mut Desk<'_>,
    event: EventId,
    before: &AttemptView,
    after: &AttemptView,
) -> Result<(), Failure> {
    let Some(seq) = find_event(desk.connection, event)? else {
        return Ok(());
    };
    let destination = desk.intern(before.destination.as_str())?;
    desk.connection
        .prepare_cached(
            "UPDATE attempts SET excerpt = ?1, message = ?2
             WHERE seq = ?3 AND destination = ?4 AND token = ?5 AND excerpt = ?6 AND message IS ?7",
        )?
        .execute((
            &after.attempt.excerpt,
            &after.attempt.message,
            seq,
            destination,
            before.token.0 as i64,
            &before.attempt.excerpt,
            &before.attempt.message,
        ))?;
    Ok(())
}

fn conflict(desk: &Desk<'_>, before: &ConflictingBody, after: &ConflictingBody) -> Result<(), Failure> {
    desk.connection
        .prepare_cached(
            "UPDATE OR IGNORE conflicts SET raw_hash = ?1, headers = ?2, body = ?3
             WHERE first = ?4 AND raw_hash = ?5 AND headers = ?6",
        )?
        .execute((
            after.raw_hash.as_bytes(),
            after.headers.as_bytes(),
            &after.body[..],
            before.first.as_bytes(),
            before.raw_hash.as_bytes(),
            before.headers.as_bytes(),
        ))?;
    Ok(())
}
