//! Importing records. A record that already exists stays as it is.

mod beside;
mod deliveries;

use hapax_core::NewEvent;
use hapax_core::store::{EventContents, IdentityRecord, MigrationCursor, Record};

use self::beside::{audit_entry, conflict, duplicates, job};
use self::deliveries::{attempts, outcome, work};
use super::mark;
use crate::accept;
use crate::bodies;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::ledger::{self, NewEntry};
use crate::noted::{self, Noted};

/// Imports records, and stores the progress of the migration.
pub(super) fn import(
    desk: &mut Desk<'_>,
    (records, reached): &(Vec<Record>, MigrationCursor),
) -> Result<(), Failure> {
    mark::advance(desk, reached)?;
    for record in records {
        match record {
            Record::Identity(record) => identity(desk, record)?,
            Record::Body(note) => {
                bodies::keep(desk, note)?;
            }
            Record::Pause(pause) => {
                let destination = desk.intern(pause.destination.as_str())?;
                desk.connection
                    .prepare_cached(
                        "INSERT OR IGNORE INTO pauses (destination, at, by, why) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute((destination, pause.at.as_micros(), &pause.by, &pause.why))?;
                desk.state.paused = None;
            }
            Record::Job(record) => job(desk, record)?,
            Record::Audit(entry) => audit_entry(desk, entry)?,
        }
    }
    Ok(())
}

fn identity(desk: &mut Desk<'_>, record: &IdentityRecord) -> Result<(), Failure> {
    let scope = desk.intern(record.scope.as_str())?;
    let entry = &record.entry;
    let rule = match &entry.content_hash {
        Some(content) => Some(desk.intern(&content.rule)?),
        None => None,
    };
    let imported = NewEntry {
        key: record.key,
        scope,
        id: entry.id,
        generation: entry.generation,
        first_seen: entry.first_seen,
        expires_at: entry.expires_at,
        raw_hash: &entry.raw_hash,
        content_rule: rule,
        content_hash: entry.content_hash.as_ref().map(|content| &content.hash),
        is_forgotten: record.is_forgotten,
    };
    // A record is imported in one transaction: if its entry exists, so does the rest.
    if !ledger::append(desk, &imported)? {
        return Ok(());
    }
    desk.state.tallies.add(scope, 1);
    for contents in &record.events {
        event(desk, record, contents, scope)?;
    }
    if record.events.is_empty() {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO expiring (expires_at, key) VALUES (?1, ?2)")?
            .execute((entry.expires_at.as_micros(), record.key.as_bytes()))?;
    }
    if let Some(tally) = &record.duplicates {
        duplicates(desk, record.key, tally)?;
        noted::note_duplicates(desk, record.key)?;
    }
    for one in &record.conflicts {
        conflict(desk, one)?;
        noted::note(desk, Noted::Conflict, one.other_body.first)?;
    }
    Ok(())
}

fn event(
    desk: &mut Desk<'_>,
    record: &IdentityRecord,
    contents: &EventContents,
    scope: i64,
) -> Result<(), Failure> {
    let id = contents.event.id;
    let seq = accept::append(
        desk,
        &as_new(record, contents),
        scope,
        contents.generation,
        contents.accepted_at,
        // The other store's order says nothing about positions in this store.
        None,
    )?;
    if id != record.entry.id {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO earlier (key, id) VALUES (?1, ?2)")?
            .execute((record.key.as_bytes(), id.as_bytes()))?;
    }
    if let Some(earlier) = contents.same_body_as {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO same_body (id, earlier) VALUES (?1, ?2)")?
            .execute((id.as_bytes(), earlier.as_bytes()))?;
    }
    for one in &contents.work {
        work(desk, seq, one, contents.accepted_at)?;
    }
    for one in &contents.outcomes {
        outcome(desk, seq, one)?;
    }
    attempts(desk, seq, contents)
}

/// The event as if it arrived now; its deliveries are imported separately.
fn as_new(record: &IdentityRecord, contents: &EventContents) -> NewEvent {
    let event = contents.event.clone();
    NewEvent {
        id: event.id,
        key: record.key,
        identity: event.identity,
        source: event.source,
        event_type: event.event_type,
        received_at: event.received_at,
        signed_at: event.signed_at,
        secret_index: event.secret_index,
        raw_hash: event.raw_hash,
        content_hash: None,
        headers: event.headers,
        body: event.body,
        batch: event.batch,
        ledger_until: record.entry.expires_at,
        indexed: contents.indexed.clone(),
        deliveries: Vec::new(),
        claimed_body: None,
    }
}
