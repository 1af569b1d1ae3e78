//! The audit trail: who did what, newest first.

use hapax_core::store::{AuditEntry, AuditRecord, Cursor};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// Entries on one page at most.
const PAGE_MAX: u32 = 1_000;

/// Writes an entry.
pub(crate) fn record(desk: &mut Desk<'_>, entry: &AuditEntry) -> Result<(), Failure> {
    let now = desk.now();
    desk.connection
        .prepare_cached("INSERT INTO audit (at, who, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute((
            now.as_micros(),
            &entry.who,
            &entry.action,
            &entry.subject,
            &entry.detail,
        ))?;
    Ok(())
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
        "SELECT no, at, who, action, subject, detail FROM audit WHERE no < ?1 ORDER BY no DESC LIMIT ?2",
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
        });
        last = Some(Cursor(row.get::<_, i64>(0)? as u64));
    }
    Ok((records, None))
}
