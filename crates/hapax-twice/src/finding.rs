//! What a plan found: what happened, what it means and what to do.

use serde::Serialize;

use crate::effect::{Change, Difference};

/// A fault of the handler.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The kind of fault.
    pub kind: FindingKind,
    /// When it occurred, and the handler's response.
    pub detail: String,
    /// What changed in the snapshot.
    pub change: Change,
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The event took effect more than once.
    Doubled,
    /// The event did not take effect, or only in part.
    Lost,
    /// The effect was different from that of a single delivery.
    Different,
    /// A duplicate of a completed event was not answered 2xx.
    DuplicateRefused,
    /// No delivery was ever answered 2xx.
    NeverAccepted,
    /// A duplicate was answered 2xx before the event was handled.
    AnsweredEarly,
    /// An older event overwrote the state set by a newer one.
    Overwritten,
    /// A delivery that must be refused was answered 2xx.
    ForgeryAccepted,
    /// A delivery was refused but took effect anyway.
    ForgeryTookEffect,
}

impl Finding {
    pub(crate) fn new(kind: FindingKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            change: Change::default(),
        }
    }

    pub(crate) fn with(mut self, change: Change) -> Self {
        self.change = change;
        self
    }
}

impl From<Difference> for FindingKind {
    fn from(difference: Difference) -> Self {
        match difference {
            Difference::More => Self::Doubled,
            Difference::Less => Self::Lost,
            Difference::Other => Self::Different,
        }
    }
}

impl FindingKind {
    /// A short description of the fault.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Doubled => "the event took effect more than once",
            Self::Lost => "the event was lost, in whole or in part",
            Self::Different => "the effect differs from that of a single delivery",
            Self::DuplicateRefused => "a duplicate of a completed event was not answered 2xx",
            Self::NeverAccepted => "the event was never answered 2xx",
            Self::AnsweredEarly => "a duplicate was answered 2xx before the event was handled",
            Self::Overwritten => "an older event overwrote the state set by a newer one",
            Self::ForgeryAccepted => "a delivery that must be refused was answered 2xx",
            Self::ForgeryTookEffect => "a delivery was refused but took effect anyway",
        }
    }

    /// What the fault means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Doubled => {
                "Two deliveries both found that the event was new: checking whether it was handled and recording that it was are not one atomic step, or nothing is recorded at all."
            }
            Self::Lost => {
                "The event was recorded as handled before it was applied, and applying it then failed; the provider retried and got a success response."
            }
            Self::Different => "Duplicates have an effect, although the event was not simply applied twice.",
            Self::DuplicateRefused => {
                "The provider treats this as a failure, retries the event for days, and may disable the endpoint."
            }
            Self::NeverAccepted => "The provider stops retrying eventually, and the event is lost.",
            Self::AnsweredEarly => {
                "The event was recorded as handled while it was still being applied; if that fails now, the provider does not retry and the event is lost."
            }
            Self::Overwritten => {
                "Providers do not guarantee the order of events, so the newer state will be lost at some point."
            }
            Self::ForgeryAccepted => "Anyone who knows the URL can forge events, or replay old ones.",
            Self::ForgeryTookEffect => {
                "The event is applied, at least in part, before the signature is checked."
            }
        }
    }

    /// How to fix it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Doubled | Self::Lost | Self::Different | Self::AnsweredEarly => {
                "Insert the event's id under a unique constraint in the same transaction as its effect: if the id exists already, roll back and answer 2xx; if applying the event fails, both are rolled back."
            }
            Self::DuplicateRefused => "Answer 2xx to a duplicate of a completed event.",
            Self::NeverAccepted => {
                "Check the response above and the handler's log; a record left by an earlier attempt may block the event."
            }
            Self::Overwritten => {
                "Compare the event's own time or version with the stored one, and keep a newer state; or fetch the current state from the provider."
            }
            Self::ForgeryAccepted => {
                "Check the signature over the raw body, and the age of its timestamp, and answer 400 or 401 if either is invalid."
            }
            Self::ForgeryTookEffect => {
                "Check the signature before anything else, and store nothing until it is verified."
            }
        }
    }
}
