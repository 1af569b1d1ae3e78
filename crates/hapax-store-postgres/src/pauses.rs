//! Paused destinations. Every lease reads the table: a pause takes effect on all replicas at once.

use hapax_core::DestinationId;
use hapax_core::store::Pause;

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::time_at;
use crate::session::Session;

const UPSERT: &str = "
    INSERT INTO hapax.pauses (destination, at, by, why) VALUES ($1::text, $2::int8, $3::text, $4::text)
    ON CONFLICT (destination) DO UPDATE SET at = excluded.at, by = excluded.by, why = excluded.why";

const DELETE: &str = "DELETE FROM hapax.pauses WHERE destination = $1::text RETURNING destination";

const SELECT: &str = "SELECT destination, at, by, why FROM hapax.pauses ORDER BY destination";

/// Pauses a destination, or updates the reason.
pub(crate) async fn pause(session: &Session, pause: &Pause) -> Result<(), Failure> {
    session.begin().await?;
    session
        .execute(
            UPSERT,
            bind![
                pause.destination.as_str(),
                pause.at.as_micros(),
                pause.by.as_str(),
                pause.why.as_str(),
            ],
        )
        .await?;
    session.commit().await
}

/// Resumes a destination. Returns whether it was paused.
pub(crate) async fn resume(session: &Session, destination: &DestinationId) -> Result<bool, Failure> {
    session.begin().await?;
    let found = session.optional(DELETE, bind![destination.as_str()]).await?;
    session.commit().await?;
    Ok(found.is_some())
}

/// Every pause, by name.
pub(crate) async fn pauses(session: &Session) -> Result<Vec<Pause>, Failure> {
    let rows = session.rows(SELECT, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Pause {
                destination: row.try_get::<_, &str>(0)?.into(),
                at: time_at(row, 1)?,
                by: row.try_get(2)?,
                why: row.try_get(3)?,
            })
        })
        .collect()
}
