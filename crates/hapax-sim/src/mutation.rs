//! Mutations: rules broken on purpose. A simulator that misses one of them would miss a bug, too.

use std::fmt;
use std::str::FromStr;

use crate::rule::Rule;

/// The rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// The store records the end of an attempt under any token.
    NoFencing,
    /// The store reuses the token when it leases a delivery again.
    ReusedTokens,
    /// The sender gets its 2xx before the event is committed.
    AckBeforeCommit,
    /// The provider gets a success response before the deliveries are done.
    AckBeforeWork,
    /// After an error from the store, the event is assumed to be written.
    GuessAfterError,
    /// The store checks whether an identity is known, waits, and inserts without a constraint.
    LookThenInsert,
    /// Each attempt carries its own key.
    KeyPerAttempt,
    /// The handler takes effect, and then records that it did.
    EffectThenMark,
    /// The handler records that it took effect, and then does.
    MarkThenEffect,
    /// Deliveries leased by a dead process are never reclaimed.
    NoRescue,
    /// Leases are reclaimed before they end.
    EarlyRescue,
    /// Dead owners go unnoticed; their leases must end first.
    NoTakeOver,
    /// Every process that reports declares silent owners dead, however briefly the store was reachable.
    HastyJudge,
    /// A bulk replay that repeats a portion requeues deliveries it has already requeued.
    ForgetfulReplay,
    /// Everything in a lane is due immediately.
    NoLanes,
    /// A bulk replay walks from the newest event to the oldest.
    BackwardReplay,
    /// A process finds one batch of deliveries per poll, however many are due.
    OneBatchPerLook,
}

impl Mutation {
    pub const ALL: [Self; 17] = [
        Self::NoFencing,
        Self::ReusedTokens,
        Self::AckBeforeCommit,
        Self::AckBeforeWork,
        Self::GuessAfterError,
        Self::LookThenInsert,
        Self::KeyPerAttempt,
        Self::EffectThenMark,
        Self::MarkThenEffect,
        Self::NoRescue,
        Self::EarlyRescue,
        Self::NoTakeOver,
        Self::HastyJudge,
        Self::ForgetfulReplay,
        Self::NoLanes,
        Self::BackwardReplay,
        Self::OneBatchPerLook,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoFencing => "no-fencing",
            Self::ReusedTokens => "reused-tokens",
            Self::AckBeforeCommit => "ack-before-commit",
            Self::AckBeforeWork => "ack-before-work",
            Self::GuessAfterError => "guess-after-error",
            Self::LookThenInsert => "look-then-insert",
            Self::KeyPerAttempt => "key-per-attempt",
            Self::EffectThenMark => "effect-then-mark",
            Self::MarkThenEffect => "mark-then-effect",
            Self::NoRescue => "no-rescue",
            Self::EarlyRescue => "early-rescue",
            Self::NoTakeOver => "no-take-over",
            Self::HastyJudge => "hasty-judge",
            Self::ForgetfulReplay => "forgetful-replay",
            Self::NoLanes => "no-lanes",
            Self::BackwardReplay => "backward-replay",
            Self::OneBatchPerLook => "one-batch-per-look",
        }
    }

    /// The checker's rule that it breaks, possibly among others.
    pub const fn breaks(self) -> Rule {
        match self {
            Self::NoFencing => Rule::StaleWrite,
            Self::ReusedTokens => Rule::TokenReused,
            Self::AckBeforeCommit | Self::GuessAfterError | Self::MarkThenEffect => Rule::Lost,
            Self::AckBeforeWork => Rule::DoneTooEarly,
            Self::LookThenInsert => Rule::TwoIds,
            Self::KeyPerAttempt => Rule::KeyChanged,
            Self::EffectThenMark => Rule::Doubled,
            Self::NoRescue => Rule::Unfinished,
            Self::EarlyRescue | Self::HastyJudge => Rule::LossUnexplained,
            Self::NoTakeOver => Rule::HeldByTheDead,
            Self::ForgetfulReplay => Rule::TooOften,
            Self::NoLanes => Rule::OutOfOrder,
            Self::BackwardReplay => Rule::ReplayOutOfOrder,
            Self::OneBatchPerLook => Rule::BacklogStands,
        }
    }
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mutation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mutation| mutation.name() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is not a mutation; expected one of {known}")
        })
    }
}
