//! The audit trail: who did what, newest first, each entry chained to the previous one.

use hapax_core::Timestamp;
use hapax_core::store::{AUDIT_KEEP, AuditEntry, AuditHead, AuditLink, AuditRecord, Cursor, expired_audit};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// The maximum number of entries per page.
const PAGE_MAX: u32 = 1_000;

/// Appends an entry. With a single writer, no other entry can come in between.
pub(crate) fn record(desk: &mut Desk<'_>, entry: &AuditEntry) -> Result<AuditLink, Failure> {
    let now = desk.now();
    let link = head(desk.connection)?.followed_by(now, entry);
    desk.connection
        .prepare_cached(
            "INSERT INTO audit (at, who, action, subject, detail, link) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            now.as_micros(),
            &entry.who,
            &entry.action,
            &entry.subject,
            &entry.detail,
            link.to_bytes(),
        ))?;
    put_head(desk.connection, link.head)?;
    Ok(link)
}

/// The last entry of the chain. A damaged head does not stop the store: the chain begins again, and verification
/// reports the break there.
pub(crate) fn head(connection: &Connection) -> Result<AuditHead, Failure> {
    let place: Option<Vec<u8>> = connection
        .prepare_cached("SELECT place FROM audit_head")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let head = place.and_then(|place| AuditHead::from_bytes(&place));
    Ok(head.unwrap_or_default())
}

fn put_head(connection: &Connection, head: AuditHead) -> Result<(), Failure> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO audit_head (only, place) VALUES (1, ?1)")?
        .execute([head.to_bytes()])?;
    Ok(())
}

/// Moves the head to an entry that belongs to another store's chain.
pub(crate) fn import(connection: &Connection, link: AuditLink) -> Result<(), Failure> {
    if link.head.seq > head(connection)?.seq {
        put_head(connection, link.head)?;
    }
    Ok(())
}

/// Examines the `limit` oldest entries and deletes the expired ones. Returns whether there may be more.
pub(crate) fn purge(desk: &Desk<'_>, now: Timestamp, limit: u32) -> Result<bool, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT no, at, link FROM audit ORDER BY no LIMIT ?1")?;
    let mut rows = select.query([limit])?;
    let mut oldest = Vec::new();
    while let Some(row) = rows.next()? {
        oldest.push((row.get::<_, i64>(0)?, time_at(row, 1)?, link_at(row, 2)?));
    }
    let expired = expired_audit(oldest, now.minus(AUDIT_KEEP));
    let mut delete = desk
        .connection
        .prepare_cached("DELETE FROM audit WHERE no = ?1")?;
    for no in &expired {
        delete.execute([no])?;
    }
    // One expired entry may stay.
    Ok(expired.len() + 1 >= limit as usize)
}

/// The link of an entry. A malformed link was tampered with: the entry then belongs to no chain, and verification
/// reports it as missing.
pub(crate) fn link_at(row: &Row<'_>, column: usize) -> Result<Option<AuditLink>, Failure> {
    let bytes: Option<Vec<u8>> = row.get(column)?;
    Ok(bytes.and_then(|bytes| AuditLink::from_bytes(&bytes)))
}

pub(crate) fn audit(
    desk: &mut ReadDesk,
    after: Option<Cursor>,
    limit: u32,
) -> Result<(Vec<AuditRecord>, Option<Cursor>), Failure> {
    let limit = limit.min(PAGE_MAX) as usize;
    let before = after.map_or(i64::MAX, |Cursor(number)| {
        i64::try_from(number).unwrap_or(i64::MAX)
    });
    let mut select = desk.connection.prepare_cached(
        "SELECT no, at, who, action, subject, detail, link FROM audit WHERE no < ?1 ORDER BY no DESC LIMIT ?2",
    )?;
    let mut rows = select.query((before, limit as i64 + 1))?;
    let mut records = Vec::new();
    let mut last = None;
    while let Some(row) = rows.next()? {
        if records.len() == limit {
            return Ok((records, last));
        }
        records.push(AuditRecord {
            at: time_at(row, 1)?,
            entry: AuditEntry {
                who: row.get(2)?,
                action: row.get(3)?,
                subject: row.get(4)?,
                detail: row.get(5)?,
            },
            link: link_at(row, 6)?,
        });
        last = Some(Cursor(row.get::<_, i64>(0)? as u64));
    }
    Ok((records, None))
}
