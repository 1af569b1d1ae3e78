//! Identity as data: where an event's id and type are, and the one text form that ids have everywhere.
//!
//! # The text of an id
//!
//! An id is injective text: two different ids under one rule never become the same text.
//!
//! - An id taken from **one** place stands as it is, so that it stays readable; only `%` and control characters are
//!   percent-escaped (`%25`, `%0A`). A `:` stays: with a single part there is nothing to confuse it with.
//! - A **composite** joins its parts by `:`; inside a part `%`, `:` and control characters are percent-escaped. A part that
//!   is missing is written `%-`, which no present part can produce, because its own `%` would be escaped.
//! - Text longer than [`EVENT_ID_BYTES_MAX`](crate::limits::EVENT_ID_BYTES_MAX) bytes is replaced by `sha256:` and the
//!   hash of that text. So that no sender can choose such a text, an id that would by itself begin with `sha256:` begins
//!   with `%73ha256:` instead; so it is with `unidentified:` and `generated:`, which begin ids that are made here. Nor can a
//!   sender write `%conflict:`, which stands before the hash of another content that came under a known id.
//! - An empty id, one with a NUL character and one that is not UTF-8 are refused; so is a composite without any part.
//!
//! A JSON string is taken as its content and a JSON number as its literal text, never through a float. `true`, `false`,
//! `null`, objects and arrays are no ids, and count as missing.

mod changing;
mod class;
mod content;
mod extract;
mod field;
mod id_rule;
mod nested;
mod pattern;
mod resolve;
mod split;
mod text;

pub use changing::Changing;
pub use class::{IdClass, OnConflict};
pub(crate) use extract::{Extracted, Pointers};
pub(crate) use field::Origin;
pub use field::{Field, FieldList, Pointer, ValuePath};
pub use id_rule::IdRule;
pub use nested::NestedEvents;
pub use pattern::Pattern;
pub(crate) use resolve::CompiledRule;
pub use split::Split;
pub(crate) use split::has_content_type;
pub use text::plain;

use serde::Deserialize;

/// What stands before the hash of an event that has no id, where the others of its request have theirs. No id of a
/// sender begins so.
pub const UNIDENTIFIED: &str = "unidentified:";

/// Where an event's id and type are, and where the events of a request are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityRule {
    /// What the id is worth: what it promises about retries and about other events.
    pub class: IdClass,
    /// Counts the changes of `event_id`, from 1.
    #[serde(default = "first_version")]
    pub version: u32,
    /// The id: one place, a list that makes a composite, several of these, or none at all.
    pub event_id: IdRule,
    /// What `event_id` was in the version before. An event that came under it, before an upgrade, comes again after it.
    #[serde(default)]
    pub earlier: Option<IdRule>,
    /// What becomes of a known id with another body, unless the source says otherwise.
    #[serde(default)]
    pub on_conflict: OnConflict,
    /// The type: one place, or a list whose present parts are joined by `.`.
    #[serde(default)]
    pub event_type: Option<FieldList>,
    /// How a request that carries several events is taken apart. In each of them `body:` is its own.
    #[serde(default)]
    pub split: Option<Split>,
    /// What differs between two attempts at one event, inside the event's own body, and is no other content.
    #[serde(default)]
    pub changing: Vec<Changing>,
}

impl IdentityRule {
    /// A rule for requests that carry one event.
    pub fn new(event_id: impl Into<IdRule>, event_type: Option<FieldList>) -> Self {
        let event_id = event_id.into();
        IdentityRule {
            class: event_id.class(),
            version: first_version(),
            event_id,
            earlier: None,
            on_conflict: OnConflict::default(),
            event_type,
            split: None,
            changing: Vec::new(),
        }
    }

    /// The same with another id. What was known about the id before says nothing about this one.
    #[must_use]
    pub fn with_event_id(self, event_id: impl Into<IdRule>) -> Self {
        IdentityRule {
            split: self.split,
            changing: self.changing,
            ..Self::new(event_id, self.event_type)
        }
    }
}

const fn first_version() -> u32 {
    1
}
