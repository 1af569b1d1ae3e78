//! Small values that sources keep in addition to their events.

use hapax_core::SourceName;
use hapax_core::store::SourceState;

use crate::bind::bind;
use crate::failure::Failure;
use crate::session::Session;

const UPSERT: &str = "
    INSERT INTO hapax.source_states (source, name, value) VALUES ($1::text, $2::text, $3::bytea)
    ON CONFLICT (source, name) DO UPDATE SET value = excluded.value";

const DELETE: &str =
    "DELETE FROM hapax.source_states WHERE source = $1::text AND name = $2::text RETURNING name";

const FIND: &str = "SELECT value FROM hapax.source_states WHERE source = $1::text AND name = $2::text";

const SELECT: &str = "SELECT source, name, value FROM hapax.source_states ORDER BY source, name";

/// The value to take, and its replacement.
pub(crate) type Taken = (SourceName, String, Option<SourceState>);

/// Stores a value, replacing any with the same name.
pub(crate) async fn put(session: &Session, state: &SourceState) -> Result<(), Failure> {
    session.begin().await?;
    upsert(session, state).await?;
    session.commit().await
}

/// Removes a value and stores its replacement in the same step. Returns whether there was one. If two replicas take the
/// same value at once, the second waits for the first to commit and then finds nothing.
pub(crate) async fn take(session: &Session, (source, name, state): &Taken) -> Result<bool, Failure> {
    session.begin().await?;
    let found = session
        .optional(DELETE, bind![source.as_str(), name.as_str()])
        .await?;
    if let (Some(_), Some(state)) = (&found, state) {
        upsert(session, state).await?;
    }
    session.commit().await?;
    Ok(found.is_some())
}

/// The value stored under a name.
pub(crate) async fn find(
    session: &Session,
    (source, name): &(SourceName, String),
) -> Result<Option<SourceState>, Failure> {
    let found = session
        .optional(FIND, bind![source.as_str(), name.as_str()])
        .await?;
    let read = |row: tokio_postgres::Row| {
        Ok(SourceState {
            source: source.clone(),
            name: name.clone(),
            value: row.try_get(0)?,
        })
    };
    found.map(read).transpose()
}

/// Every stored value, by source and name.
pub(crate) async fn list(session: &Session) -> Result<Vec<SourceState>, Failure> {
    let rows = session.rows(SELECT, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(SourceState {
                source: row.try_get::<_, &str>(0)?.into(),
                name: row.try_get(1)?,
                value: row.try_get(2)?,
            })
        })
        .collect()
}

async fn upsert(session: &Session, state: &SourceState) -> Result<(), Failure> {
    session
        .execute(
            UPSERT,
            bind![state.source.as_str(), state.name.as_str(), state.value.as_slice()],
        )
        .await?;
    Ok(())
}
