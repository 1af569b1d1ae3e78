//! Traffic over time: rows of sums, each written whole by the process it belongs to.

use hapax_core::Owner;
use hapax_core::store::{Subject, TimeRange, Traffic, TrafficRow};

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::time_at;
use crate::session::Session;

const UPSERT: &str = "
    INSERT INTO hapax.traffic (span, slot, subject, owner, sums)
    VALUES ($1::text, $2::int8, $3::text, $4::int8, $5::text)
    ON CONFLICT (span, slot, subject, owner) DO UPDATE SET sums = excluded.sums";

const DELETE: &str = "DELETE FROM hapax.traffic WHERE span = $1::text AND slot < $2::int8";

const SELECT: &str = "
    SELECT slot, subject, owner, sums FROM hapax.traffic WHERE span = $1::text ORDER BY slot, subject, owner";

/// Writes rows, and deletes those too old for any range.
pub(crate) async fn put(session: &Session, rows: &[TrafficRow]) -> Result<(), Failure> {
    let now = session.begin_at().await?;
    for row in rows {
        let sums = serde_json::to_string(&row.traffic)
            .map_err(|error| Failure::Rejected(format!("traffic cannot be written as JSON: {error}")))?;
        let (span, slot, subject) = (row.range.as_str(), row.slot.as_micros(), row.subject.to_text());
        session
            .execute(UPSERT, bind![span, slot, subject, row.owner.0 as i64, sums])
            .await?;
    }
    for span in TimeRange::ALL {
        let oldest = span.oldest(now).as_micros();
        session.execute(DELETE, bind![span.as_str(), oldest]).await?;
    }
    session.commit().await
}

/// Every row of a range, by slot.
pub(crate) async fn list(session: &Session, span: TimeRange) -> Result<Vec<TrafficRow>, Failure> {
    let rows = session.rows(SELECT, bind![span.as_str()]).await?;
    rows.iter()
        .map(|row| {
            Ok(TrafficRow {
                range: span,
                slot: time_at(row, 0)?,
                subject: subject_of(row.try_get(1)?)?,
                owner: Owner(row.try_get::<_, i64>(2)? as u64),
                traffic: sums_of(row.try_get(3)?)?,
            })
        })
        .collect()
}

fn subject_of(text: &str) -> Result<Subject, Failure> {
    Subject::from_text(text)
        .ok_or_else(|| Failure::Unreadable(format!("stored traffic has an unknown subject: `{text}`")))
}

fn sums_of(text: &str) -> Result<Traffic, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Unreadable(format!("stored traffic cannot be read: {error}")))
}
