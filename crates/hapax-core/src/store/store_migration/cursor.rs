//! The progress of a migration. The format is the same for every store, and is written to the target as text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{BodyHash, Key, Scope};

/// A position in an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationCursor {
    /// Among the identities: after this key, or before the first.
    Identities(Option<Key>),
    /// Among the bodies: after this one, or before the first.
    Bodies(Option<(Scope, BodyHash)>),
    /// Before the pauses, which are one page.
    Pauses,
    /// Before the replay jobs, which are one page.
    Jobs,
    /// In the audit trail, after this number.
    Audit(u64),
}

impl MigrationCursor {
    /// The beginning of an export.
    pub const START: Self = Self::Identities(None);
}

impl fmt::Display for MigrationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identities(None) => f.write_str("identities"),
            Self::Identities(Some(key)) => write!(f, "identities:{key:?}"),
            Self::Bodies(None) => f.write_str("bodies"),
            Self::Bodies(Some((scope, hash))) => write!(f, "bodies:{hash}:{scope}"),
            Self::Pauses => f.write_str("pauses"),
            Self::Jobs => f.write_str("jobs"),
            Self::Audit(number) => write!(f, "audit:{number}"),
        }
    }
}

/// The string is not a position in an export.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a position in a migration: the mark of the unfinished migration was modified")]
pub struct NotACursor(String);

impl FromStr for MigrationCursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| NotACursor(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<MigrationCursor> {
    let (section, rest) = match text.split_once(':') {
        Some((section, rest)) => (section, Some(rest)),
        None => (text, None),
    };
    match (section, rest) {
        ("identities", None) => Some(MigrationCursor::Identities(None)),
        ("identities", Some(key)) => {
            let key = Key::from_bytes(bytes(key)?);
            Some(MigrationCursor::Identities(Some(key)))
        }
        ("bodies", None) => Some(MigrationCursor::Bodies(None)),
        ("bodies", Some(rest)) => {
            let (hash, scope) = rest.split_once(':')?;
            let hash = BodyHash::from_bytes(bytes(hash)?);
            Some(MigrationCursor::Bodies(Some((scope.into(), hash))))
        }
        ("pauses", None) => Some(MigrationCursor::Pauses),
        ("jobs", None) => Some(MigrationCursor::Jobs),
        ("audit", Some(number)) => number.parse().ok().map(MigrationCursor::Audit),
        _ => None,
    }
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex::decode(text).ok()?.try_into().ok()
}

impl Serialize for MigrationCursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MigrationCursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;

    #[test]
    fn every_place_is_read_back_as_it_was_written() {
        let key = Identity::new("shop", "evt_1").key();
        let body = ("a:b".into(), BodyHash::of(b"body"));
        for cursor in [
            MigrationCursor::START,
            MigrationCursor::Identities(Some(key)),
            MigrationCursor::Bodies(None),
            MigrationCursor::Bodies(Some(body)),
            MigrationCursor::Pauses,
            MigrationCursor::Jobs,
            MigrationCursor::Audit(7),
        ] {
            assert_eq!(cursor.to_string().parse::<MigrationCursor>().unwrap(), cursor);
        }
    }

    #[test]
    fn any_other_text_is_no_place() {
        for text in [
            "",
            "identities:",
            "identities:zz",
            "bodies:1",
            "audit",
            "audit:x",
            "pauses:1",
        ] {
            assert!(text.parse::<MigrationCursor>().is_err(), "{text}");
        }
    }
}
