//! The audit trail: who did what, newest first, each entry chained to the one before.

use hapax_core::Timestamp;
use hapax_core::store::{AuditChain, AuditEntry, AuditHead, AuditLink, AuditRecord, Cursor};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// Entries on one page at most.
const PAGE_MAX: u32 = 1_000;
/// The names of the chain's ends.
const HEAD: &str = "head";
const CUT: &str = "cut";

/// Writes an entry behind the last one. There is one writer, so no other comes between.
pub(crate) fn record(desk: &mut Desk<'_>, entry: &AuditEntry) -> Result<AuditLink, Failure> {
    let now = desk.now();
    let link = chain(desk.connection)?.head.followed_by(now, entry);
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
    put_end(desk.connection, HEAD, link.head)?;
    Ok(link)
}

/// The ends of the chain.
pub(crate) fn chain(connection: &Connection) -> Result<AuditChain, Failure> {
    Ok(AuditChain {
        head: end(connection, HEAD)?,
        cut: end(connection, CUT)?,
    })
}

fn end(connection: &Connection, name: &str) -> Result<AuditHead, Failure> {
    let place: Option<Vec<u8>> = connection
        .prepare_cached("SELECT place FROM audit_ends WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    place.map_or(Ok(AuditHead::default()), |place| {
        AuditHead::from_bytes(&place)
            .ok_or_else(|| Failure::Unreadable("an end of the audit trail has another length".to_owned()))
    })
}

fn put_end(connection: &Connection, name: &str, place: AuditHead) -> Result<(), Failure> {
    connection
        .prepare_cached(
            "INSERT INTO audit_ends (name, place) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET place = excluded.place",
        )?
        .execute((name, place.to_bytes()))?;
    Ok(())
}

/// Takes an entry in that hangs in the chain of another store.
pub(crate) fn take_in(connection: &Connection, link: AuditLink) -> Result<(), Failure> {
    let chain = chain(connection)?;
    if chain.head == AuditHead::default() {
        put_end(connection, CUT, link.before())?;
    }
    if link.head.seq > chain.head.seq {
        put_end(connection, HEAD, link.head)?;
    }
    Ok(())
}

/// Deletes the oldest entries, at most `limit`, that are from before a moment, and notes where the chain begins then.
pub(crate) fn purge(desk: &Desk<'_>, before: Timestamp, limit: u32) -> Result<usize, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT no, at, link FROM audit ORDER BY no LIMIT ?1")?;
    let mut rows = select.query([limit])?;
    let (mut deleted, mut last, mut cut) = (0, None, None);
    while let Some(row) = rows.next()? {
        if time_at(row, 1)? >= before {
            break;
        }
        deleted += 1;
        last = Some(row.get::<_, i64>(0)?);
        cut = link_at(row, 2)?.map(|link| link.head).or(cut);
    }
    drop(rows);
    if let Some(last) = last {
        desk.connection
            .prepare_cached("DELETE FROM audit WHERE no <= ?1")?
            .execute([last])?;
    }
    if let Some(cut) = cut {
        put_end(desk.connection, CUT, cut)?;
    }
    Ok(deleted)
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
