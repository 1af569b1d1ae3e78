//! Status badges: a word and a shape, so that no one depends on colours.

use hapax_core::EventStatus;
use maud::{Markup, html};

/// The look of a badge. Each has a different shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Everything is fine.
    Good,
    /// In progress.
    Busy,
    /// May need attention.
    Warn,
    /// Needs attention.
    Bad,
    /// Neutral.
    Plain,
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Good => "badge good",
            Self::Busy => "badge busy",
            Self::Warn => "badge warn",
            Self::Bad => "badge bad",
            Self::Plain => "badge plain",
        }
    }

    const fn shape(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Busy => "◐",
            Self::Warn => "▲",
            Self::Bad => "✕",
            Self::Plain => "○",
        }
    }
}

pub(crate) fn badge(tone: Tone, words: &str) -> Markup {
    html! { span class=(tone.class()) { span aria-hidden="true" { (tone.shape()) } " " (words) } }
}

/// The badge of an event's status.
pub(crate) fn status(status: EventStatus) -> Markup {
    badge(tone(status), status.as_str())
}

const fn tone(status: EventStatus) -> Tone {
    match status {
        EventStatus::Completed => Tone::Good,
        EventStatus::Pending => Tone::Busy,
        EventStatus::Failed | EventStatus::Quarantined | EventStatus::Held => Tone::Warn,
        EventStatus::Dead => Tone::Bad,
        EventStatus::Ignored => Tone::Plain,
    }
}
