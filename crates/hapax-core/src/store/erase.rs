//! Erasure: what an event brought goes at once, and that it came stays known.

/// What becomes of the deliveries of an erased event that are not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// The event is not erased.
    Keep,
    /// They are discarded: nothing is left that could be delivered.
    Discard,
}

/// What became of an event that was to be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erased {
    /// It is erased.
    Now {
        /// How many of its deliveries were discarded.
        discarded: u32,
    },
    /// It was erased before. Conflicts that came since are erased, too.
    Before,
    /// It is as it was: work is unfinished.
    Unfinished,
    /// There is no such event, or its payload has expired.
    NotFound,
}
