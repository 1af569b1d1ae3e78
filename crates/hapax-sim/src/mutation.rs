//! Mutations: rules broken on purpose. A simulator that does not catch each of them would not catch a bug either.

use std::fmt;
use std::str::FromStr;

use crate::checker::Rule;

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// The store writes the end of an attempt whatever token is shown.
    NoFencing,
    /// The store shows the same token again when it leases a delivery again.
    ReusedTokens,
    /// The sender has its 2xx before the event is committed.
    AckBeforeCommit,
    /// The sender is told that the work is done before it is.
    AckBeforeWork,
    /// After an error from the store the event is taken for written.
    GuessAfterError,
    /// The store looks whether an identity is known, waits, and inserts without a constraint.
    LookThenInsert,
    /// Each attempt carries a key of its own.
    KeyPerAttempt,
    /// The handler takes effect, and then notes that it did.
    EffectThenMark,
    /// The handler notes that it took effect, and then does.
    MarkThenEffect,
    /// No one takes back what a dead process had leased.
    NoRescue,
    /// Leases are taken back before they end.
    EarlyRescue,
    /// No one notices that an owner is dead; its leases must end first.
    NoTakeOver,
    /// Whoever reports finds the silent dead, however long the store could be reached.
    HastyJudge,
    /// A bulk replay that repeats a portion puts back what it has put back before.
    ForgetfulReplay,
    /// Everything in a lane is due at once.
    NoLanes,
    /// A bulk replay walks from the newest event to the oldest.
    BackwardReplay,
    /// A process finds one batch of work each time it looks by itself, however much is due.
    OneBatchPerLook,
}

impl Mutation {
    /// Every one.
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

    /// As it is written on the command line.
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

    /// The rule of the checker that it breaks, whatever else it breaks.
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
            format!("there is no mutation `{text}`; there are {known}")
        })
    }
}
