//! Alert state: small values by name, replaced by compare-and-swap.

use hapax_core::store::{ALERTS_MAX, AlertState, KEYRING_NAME};

use crate::bind::bind;
use crate::failure::Failure;
use crate::session::Session;

// Serialises replicas that add alerts at the same time, so that the count is exact.
const LOCK: &str = "LOCK TABLE hapax.alerts IN SHARE ROW EXCLUSIVE MODE";

const COUNT: &str = "SELECT count(*) FROM hapax.alerts WHERE name <> $1::text";

const SELECT_ONE: &str = "SELECT name FROM hapax.alerts WHERE name = $1::text";

const INSERT: &str = "
    INSERT INTO hapax.alerts (name, value) VALUES ($1::text, $2::bytea)
    ON CONFLICT (name) DO NOTHING RETURNING name";

const UPDATE: &str =
    "UPDATE hapax.alerts SET value = $3::bytea WHERE name = $1::text AND value = $2::bytea RETURNING name";

const DELETE: &str = "DELETE FROM hapax.alerts WHERE name = $1::text AND value = $2::bytea RETURNING name";

const SELECT: &str = "SELECT name, value FROM hapax.alerts ORDER BY name";

/// The alert's name, the expected value, and the new value.
pub(crate) type Swap = (String, Option<Vec<u8>>, Option<Vec<u8>>);

/// Replaces one value with another and returns whether it did. If two replicas swap the same value at once, the second
/// waits for the first to commit and then finds a different value.
pub(crate) async fn swap(session: &Session, (name, before, after): &Swap) -> Result<bool, Failure> {
    let name = name.as_str();
    session.begin().await?;
    let swapped = match (before, after) {
        (None, Some(after)) => insert(session, name, after).await?,
        (None, None) => session.optional(SELECT_ONE, bind![name]).await?.is_none(),
        (Some(before), Some(after)) => session
            .optional(UPDATE, bind![name, before.as_slice(), after.as_slice()])
            .await?
            .is_some(),
        (Some(before), None) => session
            .optional(DELETE, bind![name, before.as_slice()])
            .await?
            .is_some(),
    };
    session.commit().await?;
    Ok(swapped)
}

/// The state of every alert, by name.
pub(crate) async fn list(session: &Session) -> Result<Vec<AlertState>, Failure> {
    let rows = session.rows(SELECT, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(AlertState {
                name: row.try_get(0)?,
                value: row.try_get(1)?,
            })
        })
        .collect()
}

async fn insert(session: &Session, name: &str, value: &[u8]) -> Result<bool, Failure> {
    session.execute(LOCK, &[]).await?;
    let kept: i64 = session.one(COUNT, bind![KEYRING_NAME]).await?.try_get(0)?;
    if kept >= ALERTS_MAX as i64 {
        return Ok(false);
    }
    Ok(session.optional(INSERT, bind![name, value]).await?.is_some())
}
