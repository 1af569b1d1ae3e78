//! The audit trail: who did what, newest first.

use hapax_core::store::{AuditEntry, AuditRecord, Cursor};

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::time_at;
use crate::session::Session;

/// Entries on one page at most.
const PAGE_MAX: u32 = 1_000;

const INSERT: &str = "
    INSERT INTO hapax.audit (no, at, who, action, subject, detail)
    VALUES ($1::int8, $2::int8, $3::text, $4::text, $5::text, $6::text)";

const SELECT: &str = "
    SELECT no, at, who, action, subject, detail FROM hapax.audit
    WHERE no < $1::int8 ORDER BY no DESC LIMIT $2::int8";

/// Writes an entry.
pub(crate) async fn record(session: &Session, entry: &AuditEntry) -> Result<(), Failure> {
    session.begin().await?;
    let (now, mut numbers) = session.take(1).await?;
    session
        .execute(
            INSERT,
            bind![
                numbers.next()?,
                now.as_micros(),
                entry.who.as_str(),
                entry.action.as_str(),
                entry.subject.as_str(),
                entry.detail.as_str(),
            ],
        )
        .await?;
    session.commit().await
}

/// Reads a page.
pub(crate) async fn audit(
    session: &Session,
    (after, limit): &(Option<Cursor>, u32),
) -> Result<(Vec<AuditRecord>, Option<Cursor>), Failure> {
    let limit = (*limit).min(PAGE_MAX) as usize;
    let before = after.map_or(i64::MAX, |Cursor(number)| {
        i64::try_from(number).unwrap_or(i64::MAX)
    });
    let rows = session.rows(SELECT, bind![before, limit as i64 + 1]).await?;
    let mut records = Vec::with_capacity(rows.len());
    let mut last = None;
    for row in rows.iter().take(limit) {
        records.push(AuditRecord {
            at: time_at(row, 1)?,
            entry: AuditEntry {
                who: row.try_get(2)?,
                action: row.try_get(3)?,
                subject: row.try_get(4)?,
                detail: row.try_get(5)?,
            },
        });
        last = Some(Cursor(row.try_get::<_, i64>(0)? as u64));
    }
    Ok((records, last.filter(|_| rows.len() > limit)))
}
