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
    CopyRefused,
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
            Self::Different => "the copies did something else than one delivery does",
            Self::CopyRefused => "a copy of an event that was done was not answered 2xx",
            Self::NeverAccepted => "the event was never answered 2xx",
            Self::AnsweredEarly => "a copy was answered 2xx before the work was done",
            Self::Overwritten => "an older event changed what a newer one had set",
            Self::ForgeryAccepted => "a delivery that must be refused was answered 2xx",
            Self::ForgeryTookEffect => "a delivery that was refused took effect all the same",
        }
    }

    /// What the fault means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Doubled => {
                "Two copies found that the event was new: the question and the note that it was handled are not one atomic step, or there is no note at all."
            }
            Self::Lost => {
                "The event was noted as handled before its work was done, and the work then did not happen; the sender came again and was told that all is well."
            }
            Self::Different => {
                "Copies are not without consequence, though the event did not simply happen twice."
            }
            Self::CopyRefused => {
                "The sender takes this for a failure, sends the event again for days, and may switch the endpoint off."
            }
            Self::NeverAccepted => "The sender will give up at some time, and the event is lost.",
            Self::AnsweredEarly => {
                "The event was noted as handled while its work was still under way; if the work fails now, the sender does not come again and the event is lost."
            }
            Self::Overwritten => {
                "Senders do not keep the order of events, so the newer state will be lost some day."
            }
            Self::ForgeryAccepted => "Anybody who knows the address can make events up, or repeat old ones.",
            Self::ForgeryTookEffect => "The work, or a part of it, is done before the signature is checked.",
        }
    }

    /// How to fix it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Doubled | Self::Lost | Self::Different | Self::AnsweredEarly => {
                "Insert the event's id under a unique constraint in the same transaction as the work: where the insert finds the id, roll back and answer 2xx; where the work fails, both are undone."
            }
            Self::CopyRefused => "Answer 2xx to a copy of an event that is done.",
            Self::NeverAccepted => {
                "Look at the answer above and at the handler's log; a note that an earlier attempt left behind may block the event."
            }
            Self::Overwritten => {
                "Compare the event's own time or version with the stored one, and leave a newer state alone; or fetch the current state from the sender."
            }
            Self::ForgeryAccepted => {
                "Check the signature over the raw body, and the age of its timestamp, and answer 400 or 401 where they do not hold."
            }
            Self::ForgeryTookEffect => {
                "Check the signature before anything else, and store nothing until it holds."
            }
        }
    }
}
