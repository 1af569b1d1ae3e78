//! Events with a rare property, recorded separately so that a list finds them among a million others.

use hapax_core::{EventId, Key};

use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::forget::earlier;
use crate::look_up::{self, Holder};

/// The property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It has duplicates.
    Duplicates,
    /// Another body arrived under the same id.
    Conflict,
}

impl Noted {
    pub(crate) const fn code(self) -> i64 {
        match self {
            Self::Duplicates => 0,
            Self::Conflict => 1,
        }
    }
}

/// Records the property for an event, if the event is stored.
pub(crate) fn note(desk: &Desk<'_>, what: Noted, event: EventId) -> Result<(), Failure> {
    if let Some(seq) = find_event(desk.connection, event)? {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO noted (what, seq) VALUES (?1, ?2)")?
            .execute((what.code(), seq))?;
    }
    Ok(())
}

/// Records duplicates for every stored event of an identity, because the tally is shared by all of them.
pub(crate) fn note_duplicates(desk: &mut Desk<'_>, key: Key) -> Result<(), Failure> {
    let mut events = earlier(desk.connection, key)?;
    match look_up::holder(desk, key)? {
        Some(Holder::Event(entry)) => events.push(entry.id),
        Some(Holder::Forgotten { last, .. }) => events.push(last),
        None => {}
    }
    for event in events {
        note(desk, Noted::Duplicates, event)?;
    }
    Ok(())
}

/// Removes everything recorded for the event in row `seq`.
pub(crate) fn remove(desk: &Desk<'_>, seq: i64) -> Result<(), Failure> {
    let mut delete = desk
        .connection
        .prepare_cached("DELETE FROM noted WHERE what = ?1 AND seq = ?2")?;
    for what in [Noted::Duplicates, Noted::Conflict] {
        delete.execute((what.code(), seq))?;
    }
    Ok(())
}
