//! Erasure: the contents of an event are removed immediately; the record that it arrived stays.

/// What to do with the unfinished deliveries of an event to erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// Keep them: the event is not erased.
    Keep,
    /// Discard them: nothing is left to deliver.
    Discard,
}

/// The result of erasing an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erased {
    /// It was erased.
    Now {
        /// The number of its deliveries that were discarded.
        discarded: u32,
    },
    /// It was erased before. Conflicts that arrived since then were erased now.
    Before,
    /// It was not erased: a delivery is unfinished.
    Unfinished,
    /// The event does not exist, or its payload has expired.
    NotFound,
}
