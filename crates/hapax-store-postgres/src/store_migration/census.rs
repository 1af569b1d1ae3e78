//! The number of records of each kind, counted row by row.

use hapax_core::store::Census;

use crate::failure::Failure;
use crate::session::Session;

const COUNT: &str = "
    SELECT /* every bucket */ (SELECT count(*) FROM hapax.ledger), (SELECT count(*) FROM hapax.events),
           (SELECT count(*) FROM hapax.work), (SELECT count(*) FROM hapax.outcomes),
           (SELECT count(*) FROM hapax.attempts), (SELECT count(*) FROM hapax.duplicates),
           (SELECT count(*) FROM hapax.conflicts), (SELECT count(*) FROM hapax.bodies),
           (SELECT count(*) FROM hapax.same_body), (SELECT count(*) FROM hapax.pauses),
           (SELECT count(*) FROM hapax.replays), (SELECT count(*) FROM hapax.audit),
           (SELECT last_value + 1 FROM hapax.tokens)";

/// Counts everything as of one moment.
pub(super) async fn census(session: &Session) -> Result<Census, Failure> {
    session.begin_reading().await?;
    let census = count(session).await?;
    session.commit().await?;
    Ok(census)
}

/// Counts within a transaction.
pub(super) async fn count(session: &Session) -> Result<Census, Failure> {
    let row = session.one(COUNT, &[]).await?;
    let count = |column: usize| -> Result<u64, Failure> { Ok(row.try_get::<_, i64>(column)? as u64) };
    Ok(Census {
        identities: count(0)?,
        events: count(1)?,
        unfinished: count(2)?,
        outcomes: count(3)?,
        attempts: count(4)?,
        duplicates: count(5)?,
        conflicts: count(6)?,
        bodies: count(7)?,
        same_bodies: count(8)?,
        pauses: count(9)?,
        jobs: count(10)?,
        audit: count(11)?,
        numbers_below: count(12)?,
    })
}
