//! The promises that a history may break.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// An event that was answered 2xx takes effect at each of its destinations.
    Lost,
    /// An event takes effect only once at each destination.
    Doubled,
    /// A forced replay lets an event take effect exactly once more.
    TooOften,
    /// Every 2xx for one identity names the same event.
    TwoIds,
    /// "Done" is answered only after the event's effects.
    DoneTooEarly,
    /// Every attempt at a delivery carries the same key.
    KeyChanged,
    /// Events of one lane take effect in the order in which they were stored.
    OutOfOrder,
    /// A replayed delivery waits in its lane at the position of its acceptance, and a bulk replay requeues the oldest
    /// first.
    ReplayOutOfOrder,
    /// Due deliveries do not wait while a healthy process is idle.
    BacklogStands,
    /// Only the holder of the current lease records the end of an attempt.
    StaleWrite,
    /// A lease is never granted while another process holds it.
    TwoHolders,
    /// Every lease has a token greater than all earlier ones.
    TokenReused,
    /// A lease is lost only if a fault explains it.
    LossUnexplained,
    /// Deliveries leased by a dead process are reclaimed within 15 s, if another process could reach the store
    /// throughout.
    HeldByTheDead,
    /// At the end, nothing is left to do.
    Unfinished,
}

impl Rule {
    pub const ALL: [Self; 15] = [
        Self::Lost,
        Self::Doubled,
        Self::TooOften,
        Self::TwoIds,
        Self::DoneTooEarly,
        Self::KeyChanged,
        Self::OutOfOrder,
        Self::ReplayOutOfOrder,
        Self::BacklogStands,
        Self::StaleWrite,
        Self::TwoHolders,
        Self::TokenReused,
        Self::LossUnexplained,
        Self::HeldByTheDead,
        Self::Unfinished,
    ];
}
