//! Traffic over time: rows of sums, each written whole by the process it belongs to.

use hapax_core::Owner;
use hapax_core::store::{Subject, TimeRange, Traffic, TrafficRow};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// Writes rows, and deletes those too old for any range.
pub(crate) fn put(desk: &mut Desk<'_>, rows: &[TrafficRow]) -> Result<(), Failure> {
    let mut insert = desk.connection.prepare_cached(
        "INSERT OR REPLACE INTO traffic (span, slot, subject, owner, sums) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for row in rows {
        let sums = serde_json::to_string(&row.traffic)
            .map_err(|error| Failure::Rejected(format!("traffic cannot be written as JSON: {error}")))?;
        insert.execute((
            row.range.as_str(),
            row.slot.as_micros(),
            row.subject.to_text(),
            row.owner.0 as i64,
            sums,
        ))?;
    }
    let now = desk.now();
    let mut delete = desk
        .connection
        .prepare_cached("DELETE FROM traffic WHERE span = ?1 AND slot < ?2")?;
    for span in TimeRange::ALL {
        delete.execute((span.as_str(), span.oldest(now).as_micros()))?;
    }
    Ok(())
}

/// Every row of a range, by slot.
pub(crate) fn list(desk: &mut ReadDesk, span: TimeRange) -> Result<Vec<TrafficRow>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT slot, subject, owner, sums FROM traffic WHERE span = ?1 ORDER BY slot, subject, owner",
    )?;
    let mut rows = select.query([span.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(TrafficRow {
            range: span,
            slot: time_at(row, 0)?,
            subject: subject_of(&row.get::<_, String>(1)?)?,
            owner: Owner(row.get::<_, i64>(2)? as u64),
            traffic: sums_of(&row.get::<_, String>(3)?)?,
        });
    }
    Ok(found)
}

fn subject_of(text: &str) -> Result<Subject, Failure> {
    Subject::from_text(text)
        .ok_or_else(|| Failure::Unreadable(format!("stored traffic has an unknown subject: `{text}`")))
}

fn sums_of(text: &str) -> Result<Traffic, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Unreadable(format!("stored traffic cannot be read: {error}")))
}
