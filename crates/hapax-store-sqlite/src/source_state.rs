//! Small values that sources keep in addition to their events.

use hapax_core::SourceName;
use hapax_core::store::SourceState;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;

/// The value to take, and its replacement.
pub(crate) type Taken = (SourceName, String, Option<SourceState>);

/// Stores a value, replacing any with the same name.
pub(crate) fn put(desk: &mut Desk<'_>, state: &SourceState) -> Result<(), Failure> {
    desk.connection
        .prepare_cached("INSERT OR REPLACE INTO source_states (source, name, value) VALUES (?1, ?2, ?3)")?
        .execute((state.source.as_str(), &state.name, &state.value))?;
    Ok(())
}

/// Removes a value and stores its replacement in the same step. Returns whether there was one.
pub(crate) fn take(desk: &mut Desk<'_>, (source, name, state): &Taken) -> Result<bool, Failure> {
    let taken = desk
        .connection
        .prepare_cached("DELETE FROM source_states WHERE source = ?1 AND name = ?2")?
        .execute((source.as_str(), name))?;
    if let (1, Some(state)) = (taken, state) {
        put(desk, state)?;
    }
    Ok(taken == 1)
}

/// The value stored under a name.
pub(crate) fn find(
    desk: &mut ReadDesk,
    source: &SourceName,
    name: &str,
) -> Result<Option<SourceState>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT value FROM source_states WHERE source = ?1 AND name = ?2")?;
    let mut rows = select.query((source.as_str(), name))?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(SourceState {
        source: source.clone(),
        name: name.to_owned(),
        value: row.get(0)?,
    }))
}

/// Every stored value, by source and name.
pub(crate) fn list(desk: &mut ReadDesk) -> Result<Vec<SourceState>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT source, name, value FROM source_states ORDER BY source, name")?;
    let mut rows = select.query([])?;
    let mut states = Vec::new();
    while let Some(row) = rows.next()? {
        states.push(SourceState {
            source: SourceName::from(row.get::<_, String>(0)?),
            name: row.get(1)?,
            value: row.get(2)?,
        });
    }
    Ok(states)
}
