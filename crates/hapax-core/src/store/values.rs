//! Small values with names, each replaced only if it is what the caller expects: saved searches, the states of alerts,
//! and what sources keep in addition to their events.

use serde::{Deserialize, Serialize};

use super::KEYRING_NAME;
use crate::{SourceName, Timestamp};

/// The maximum number of saved searches.
pub const SAVED_SEARCHES_MAX: usize = 200;

/// The maximum number of alerts.
pub const ALERTS_MAX: usize = 500;

/// Where a value is kept. Names are unique within a space, and compare as bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueSpace {
    /// Every value is a [`SavedSearch`], written by [`SavedSearch::to_value`].
    SavedSearches,
    /// The states of alerts, which only the alerting code interprets, and the keyring of an encrypted store.
    Alerts,
    /// What one source keeps, such as a secret that its provider sent during a handshake.
    Source(SourceName),
}

impl ValueSpace {
    /// How many values it can hold.
    pub const fn limit(&self) -> Option<usize> {
        match self {
            Self::SavedSearches => Some(SAVED_SEARCHES_MAX),
            Self::Alerts => Some(ALERTS_MAX),
            Self::Source(_) => None,
        }
    }

    /// Whether a value counts towards the limit. The keyring is not an alert.
    fn counts(&self, name: &str) -> bool {
        *self != Self::Alerts || name != KEYRING_NAME
    }

    /// The source, if the space belongs to one.
    pub const fn source(&self) -> Option<&SourceName> {
        match self {
            Self::Source(source) => Some(source),
            Self::SavedSearches | Self::Alerts => None,
        }
    }
}

/// A value and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// The name, unique within its space.
    pub name: String,
    /// The value: any bytes, even none.
    pub value: Vec<u8>,
}

impl NamedValue {
    /// A value with a name.
    pub fn new(name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// What must be stored under a name for a swap to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A value or none.
    Anything,
    /// No value.
    Absent,
    /// Any value.
    Present,
    /// Exactly this value.
    Value(Vec<u8>),
}

impl Expected {
    /// Whether this is what was found.
    pub fn is_met_by(&self, found: Option<&[u8]>) -> bool {
        match self {
            Self::Anything => true,
            Self::Absent => found.is_none(),
            Self::Present => found.is_some(),
            Self::Value(value) => found == Some(value.as_slice()),
        }
    }
}

/// One value that replaces another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSwap {
    /// Where both are kept.
    pub space: ValueSpace,
    /// The name of the value to replace.
    pub name: String,
    /// What must be stored under it.
    pub expected: Expected,
    /// The value to store instead; `None` to store none. Its name may be another if a value is expected: that value is
    /// removed in the same step.
    pub put: Option<NamedValue>,
}

impl ValueSwap {
    /// Stores a value, whether or not there is one with its name.
    pub fn put(space: ValueSpace, put: NamedValue) -> Self {
        Self {
            space,
            name: put.name.clone(),
            expected: Expected::Anything,
            put: Some(put),
        }
    }

    /// Removes a value and stores `put`, if there is a value.
    pub fn take(space: ValueSpace, name: impl Into<String>, put: Option<NamedValue>) -> Self {
        Self {
            space,
            name: name.into(),
            expected: Expected::Present,
            put,
        }
    }

    /// Replaces exactly `before` with `after`; `None` stands for no value.
    pub fn exact(
        space: ValueSpace,
        name: impl Into<String>,
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
    ) -> Self {
        let name = name.into();
        Self {
            space,
            expected: before.map_or(Expected::Absent, Expected::Value),
            put: after.map(|value| NamedValue::new(name.clone(), value)),
            name,
        }
    }

    /// Whether it may add a name to its space, as opposed to replacing a value under its name.
    pub fn may_add(&self) -> bool {
        let replaces = matches!(self.expected, Expected::Present | Expected::Value(_));
        let put = self.put.as_ref();
        put.is_some_and(|put| !replaces || put.name != self.name)
    }

    /// Whether there is room for the new value among those with these names.
    pub fn has_room<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> bool {
        let (Some(limit), Some(put)) = (self.space.limit(), &self.put) else {
            return true;
        };
        let is_other = |name: &&str| self.space.counts(name) && *name != self.name && *name != put.name;
        !self.space.counts(&put.name) || names.into_iter().filter(is_other).count() < limit
    }
}

/// The result of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapped {
    /// The value was replaced.
    Done,
    /// Something else than expected is stored. Nothing has changed.
    Differs,
    /// The space holds as many values as it can. Nothing has changed.
    Full,
}

impl Swapped {
    /// Whether the value was replaced.
    pub fn is_done(self) -> bool {
        self == Self::Done
    }
}

/// A saved search: a query with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSearch {
    /// The unique name of the search.
    pub name: String,
    /// The query as it was typed: `since:2h` stays relative.
    pub query: String,
    /// Who saved it.
    pub by: String,
    /// When it was saved.
    pub at: Timestamp,
}

impl SavedSearch {
    /// The search as a value. Equal searches are equal values, in every store.
    pub fn to_value(&self) -> NamedValue {
        NamedValue::new(self.name.as_str(), serde_json::to_vec(self).unwrap_or_default())
    }

    /// Reads a value; `None` if it is not a search.
    pub fn from_value(value: &[u8]) -> Option<Self> {
        serde_json::from_slice(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_search_is_read_as_it_was_written() {
        let search = SavedSearch {
            name: "dead".to_owned(),
            query: "status:dead \"é\"".to_owned(),
            by: "ops".to_owned(),
            at: Timestamp::from_micros(1_767_225_600_123_456),
        };
        let value = search.to_value();
        assert_eq!(value.name, search.name);
        // Redis stores these bytes, and other releases read them.
        let text =
            r#"{"name":"dead","query":"status:dead \"é\"","by":"ops","at":"2026-01-01T00:00:00.123456Z"}"#;
        assert_eq!(value.value, text.as_bytes());
        assert_eq!(SavedSearch::from_value(&value.value), Some(search));
        assert_eq!(SavedSearch::from_value(b"{}"), None);
    }

    #[test]
    fn a_full_space_has_room_for_what_it_holds_and_for_the_keyring() {
        let names: Vec<String> = (0..ALERTS_MAX).map(|number| number.to_string()).collect();
        let has_room = |name: &str| {
            let swap = ValueSwap::put(ValueSpace::Alerts, NamedValue::new(name, "1"));
            swap.has_room(names.iter().map(String::as_str))
        };
        assert!(has_room("7") && has_room(KEYRING_NAME));
        assert!(!has_room("one more"));
        let moved = Some(NamedValue::new("one more", "1"));
        let swap = ValueSwap::take(ValueSpace::Alerts, "7", moved);
        assert!(swap.may_add() && swap.has_room(names.iter().map(String::as_str)));
    }
}
