//! Re-encryption: rows are rewritten, each only if it is still as it was read. Vacuum removes the remains of the old
//! rows.

use hapax_core::store::{AttemptView, BodyNote, ConflictingBody, IndexedValue, LedgerEntry, Resealed};
use hapax_core::{EventId, Key, StoredEvent};

use crate::batch::Batch;
use crate::bodies;
use crate::failure::Failure;
use crate::rows::{bucket_of, key_bucket, key_uuid, uuid_of};
use crate::session::Session;

const ENTRIES: &str = "
    UPDATE hapax.ledger AS l
    SET raw_hash = n.raw_hash, content_rule = n.content_rule, content_hash = n.content_hash
    FROM {n} WHERE l.bucket = {bucket} AND l.key = n.key AND l.id = n.id AND l.raw_hash = n.before";

const EVENTS: &str = "
    UPDATE hapax.events AS e SET headers = n.headers, body = n.body, raw_hash = n.raw_hash
    FROM {n} WHERE e.bucket = {bucket} AND e.id = n.id AND e.headers = n.before";

const INDEXED: &str = "
    UPDATE hapax.indexed AS i SET pointer = n.pointer, digest = n.digest
    FROM {n} WHERE i.bucket = {bucket} AND i.id = n.id AND i.pointer = n.old_pointer AND i.digest = n.old_digest";

const ATTEMPTS: &str = "
    UPDATE hapax.attempts AS a SET excerpt = n.excerpt, message = n.message
    FROM {n} WHERE a.bucket = {bucket} AND a.id = n.id AND a.destination = n.destination AND a.token = n.token
      AND a.excerpt = n.old_excerpt AND a.message IS NOT DISTINCT FROM n.old_message";

const CONFLICTS: &str = "
    UPDATE hapax.conflicts AS c SET raw_hash = n.raw_hash, headers = n.headers, body = n.body
    FROM {n} WHERE c.bucket = {bucket} AND c.first = n.first AND c.raw_hash = n.old_hash AND c.headers = n.old_headers
      AND (n.raw_hash = n.old_hash
           OR NOT EXISTS (SELECT FROM hapax.conflicts o
                          WHERE o.bucket = {bucket} AND o.first = n.first AND o.raw_hash = n.raw_hash))";

/// Rows by kind.
#[derive(Default)]
struct Rows<'r> {
    entries: Vec<(Key, &'r LedgerEntry, &'r LedgerEntry)>,
    events: Vec<(&'r StoredEvent, &'r StoredEvent)>,
    indexed: Vec<(EventId, &'r IndexedValue, &'r IndexedValue)>,
    attempts: Vec<(EventId, &'r AttemptView, &'r AttemptView)>,
    conflicts: Vec<(&'r ConflictingBody, &'r ConflictingBody)>,
    bodies: Vec<(&'r BodyNote, &'r BodyNote)>,
}

pub(crate) async fn reseal(session: &Session, rows: &[Resealed]) -> Result<(), Failure> {
    let mut by_kind = Rows::default();
    for row in rows {
        match row {
            Resealed::Entry { key, before, after } => by_kind.entries.push((*key, before, after)),
            Resealed::Event { before, after } => by_kind.events.push((before, after)),
            Resealed::Indexed { event, before, after } => by_kind.indexed.push((*event, before, after)),
            Resealed::Attempt { event, before, after } => by_kind.attempts.push((*event, before, after)),
            Resealed::Conflict { before, after } => by_kind.conflicts.push((before, after)),
            Resealed::Body { before, after } => by_kind.bodies.push((before, after)),
        }
    }
    session.begin().await?;
    session.write(ENTRIES, &entries(&by_kind.entries)).await?;
    session.write(EVENTS, &events(&by_kind.events)).await?;
    session.write(INDEXED, &indexed(&by_kind.indexed)).await?;
    session.write(ATTEMPTS, &attempts(&by_kind.attempts)).await?;
    session.write(CONFLICTS, &conflicts(&by_kind.conflicts)).await?;
    bodies::rename(session, &by_kind.bodies).await?;
    session.commit().await
}

fn entries<'r>(rows: &[(Key, &'r LedgerEntry, &'r LedgerEntry)]) -> Batch<'r> {
    let contents = || rows.iter().map(|(.., after)| after.content_hash.as_ref());
    Batch::in_buckets(rows.iter().map(|(key, ..)| key_bucket(*key)))
        .column("key", rows.iter().map(|(key, ..)| key_uuid(*key)))
        .column("id", rows.iter().map(|(_, before, _)| uuid_of(before.id)))
        .column(
            "before",
            rows.iter().map(|(_, before, _)| &before.raw_hash.as_bytes()[..]),
        )
        .column(
            "raw_hash",
            rows.iter().map(|(.., after)| &after.raw_hash.as_bytes()[..]),
        )
        .column(
            "content_rule",
            contents().map(|content| content.map(|content| content.rule.as_str())),
        )
        .column(
            "content_hash",
            contents().map(|content| content.map(|content| &content.hash.as_bytes()[..])),
        )
}

fn events<'r>(rows: &[(&'r StoredEvent, &'r StoredEvent)]) -> Batch<'r> {
    Batch::in_buckets(rows.iter().map(|(before, _)| bucket_of(before.id)))
        .column("id", rows.iter().map(|(before, _)| uuid_of(before.id)))
        .column("before", rows.iter().map(|(before, _)| before.headers.as_bytes()))
        .column("headers", rows.iter().map(|(_, after)| after.headers.as_bytes()))
        .column("body", rows.iter().map(|(_, after)| &after.body[..]))
        .column(
            "raw_hash",
            rows.iter().map(|(_, after)| &after.raw_hash.as_bytes()[..]),
        )
}

fn indexed<'r>(rows: &[(EventId, &'r IndexedValue, &'r IndexedValue)]) -> Batch<'r> {
    Batch::in_buckets(rows.iter().map(|(event, ..)| bucket_of(*event)))
        .column("id", rows.iter().map(|(event, ..)| uuid_of(*event)))
        .column(
            "old_pointer",
            rows.iter().map(|(_, before, _)| before.pointer.as_str()),
        )
        .column("old_digest", rows.iter().map(|(_, before, _)| before.digest))
        .column("pointer", rows.iter().map(|(.., after)| after.pointer.as_str()))
        .column("digest", rows.iter().map(|(.., after)| after.digest))
}

fn attempts<'r>(rows: &[(EventId, &'r AttemptView, &'r AttemptView)]) -> Batch<'r> {
    let message = |view: &'r AttemptView| view.attempt.message.as_deref().map(str::as_bytes);
    Batch::in_buckets(rows.iter().map(|(event, ..)| bucket_of(*event)))
        .column("id", rows.iter().map(|(event, ..)| uuid_of(*event)))
        .column(
            "destination",
            rows.iter().map(|(_, before, _)| before.destination.as_str()),
        )
        .column("token", rows.iter().map(|(_, before, _)| before.token.0 as i64))
        .column(
            "old_excerpt",
            rows.iter()
                .map(|(_, before, _)| before.attempt.excerpt.as_bytes()),
        )
        .column("old_message", rows.iter().map(|(_, before, _)| message(before)))
        .column(
            "excerpt",
            rows.iter().map(|(.., after)| after.attempt.excerpt.as_bytes()),
        )
        .column("message", rows.iter().map(|(.., after)| message(after)))
}

fn conflicts<'r>(rows: &[(&'r ConflictingBody, &'r ConflictingBody)]) -> Batch<'r> {
    Batch::in_buckets(rows.iter().map(|(before, _)| bucket_of(before.first)))
        .column("first", rows.iter().map(|(before, _)| uuid_of(before.first)))
        .column(
            "old_hash",
            rows.iter().map(|(before, _)| &before.raw_hash.as_bytes()[..]),
        )
        .column(
            "old_headers",
            rows.iter().map(|(before, _)| before.headers.as_bytes()),
        )
        .column(
            "raw_hash",
            rows.iter().map(|(_, after)| &after.raw_hash.as_bytes()[..]),
        )
        .column("headers", rows.iter().map(|(_, after)| after.headers.as_bytes()))
        .column("body", rows.iter().map(|(_, after)| &after.body[..]))
}
