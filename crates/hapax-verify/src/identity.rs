//! Identity as data: where an event's id and type are, and the one text form that ids have everywhere.
//!
//! # The text of an id
//!
//! The text form is injective: two different ids under one rule never have the same text.
//!
//! - An id from **one** location is kept as it is, so that it stays readable; only `%` and control characters are
//!   percent-escaped (`%25`, `%0A`). A `:` is kept: with a single part it is unambiguous.
//! - A **composite** joins its parts with `:`; inside a part `%`, `:` and control characters are percent-escaped. A
//!   missing part is written `%-`, which no present part can produce, because its own `%` would be escaped.
//! - Text longer than [`EVENT_ID_BYTES_MAX`](crate::limits::EVENT_ID_BYTES_MAX) bytes is replaced by `sha256:` and the
//!   hash of that text. So that no provider can choose such a text, an id that would itself begin with `sha256:` begins
//!   with `%73ha256:` instead. The same applies to `unidentified:` and `generated:`, the prefixes of ids that Hapax
//!   makes. Nor can a provider write `%conflict:`, which precedes the hash of a conflicting body under a known id.
//! - Refused are an empty id, an id with a NUL character, an id that is not UTF-8, and a composite without any part.
//!
//! A JSON string is used by its content and a JSON number by its literal text, never through a float. `true`, `false`,
//! `null`, objects and arrays are not ids, and count as missing.

mod changing;
mod class;
mod content;
mod extract;
mod field;
mod id_rule;
mod item;
mod nested;
mod pattern;
mod split;
pub(crate) mod text;

pub use changing::Changing;
pub use class::{IdClass, OnConflict};
pub(crate) use content::{ChangingValues, Content};
pub(crate) use extract::{Extracted, Pointers};
pub(crate) use field::Origin;
pub use field::{Field, FieldList, Pointer, ValuePath};
pub use id_rule::IdRule;
pub(crate) use item::{Item, KnownItem};
pub use nested::NestedEvents;
pub use pattern::Pattern;
pub use split::Split;
pub(crate) use split::{Splitter, has_content_type};
pub use text::plain;

use serde::Deserialize;

/// Prefix of the id of an event that has none although the other events of its request do; a hash follows. No
/// provider's id starts with it.
pub const UNIDENTIFIED: &str = "unidentified:";

/// Where an event's id and type are, and where the events of a request are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityRule {
    /// What the id guarantees about retries and about other events.
    pub class: IdClass,
    /// The version of `event_id`, counted from 1.
    #[serde(default = "first_version")]
    pub version: u32,
    /// The id: one location, a list that forms a composite, several of these, or none at all.
    pub event_id: IdRule,
    /// The previous version of `event_id`, which recognises events that arrived before an upgrade and are retried after
    /// it.
    #[serde(default)]
    pub earlier: Option<IdRule>,
    /// What happens to a different body under a known id, unless the source overrides it.
    #[serde(default)]
    pub on_conflict: OnConflict,
    /// The type: one location, or a list whose present parts are joined with `.`.
    #[serde(default)]
    pub event_type: Option<FieldList>,
    /// How a request with several events is split. In each event, `body:` refers to its own body.
    #[serde(default)]
    pub split: Option<Split>,
    /// Values inside the event's own body that differ between attempts without making the content different.
    #[serde(default)]
    pub changing: Vec<Changing>,
}

impl IdentityRule {
    /// A rule for requests with one event.
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

    /// The same rule with another id. What was known about the previous id does not apply to this one.
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
