//! The audit trail: who did what, newest first, each entry chained to the one before.

use hapax_core::Timestamp;
use hapax_core::store::{AUDIT_KEEP, AuditEntry, AuditHead, AuditLink, AuditRecord, Cursor, expired_audit};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// Entries on one page at most.
const PAGE_MAX: u32 = 1_000;

/// Writes an entry behind the last one. There is one writer, so no other comes between.
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

/// The last entry of the chain. A head that someone damaged stops no one from working: the chain begins again, and is
/// found broken there.
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

/// Moves the head to an entry that hangs in the chain of another store.
pub(crate) fn import(connection: &Connection, link: AuditLink) -> Result<(), Failure> {
    if link.head.seq > head(connection)?.seq {
        put_head(connection, link.head)?;
    }
    Ok(())
}

/// Deletes the oldest entries that were kept for long enough, of `limit` that it looks at; whether there may be more.
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
    // One of them may stay.
    Ok(expired.len() + 1 >= limit as usize)
}

/// The link of an entry. One that is none was tampered with: then the entry hangs in no chain, and is missed there.
pub(crate) fn link_at(row: &Row<'_>, column: usize) -> Result<Option<AuditLink>, Failure> {
    let bytes: Option<Vec<u8>> = row.get(column)?;
    Ok(bytes.and_then(|bytes| AuditLink::from_bytes(&bytes)))
}

/// Reads a page.
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
