//! The rule for an event's id: composites, in the order in which they are tried.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use super::{Field, FieldList};

/// The setting for a source whose provider has no ids and may send the same bytes for different events.
const NONE: &str = "none";

/// Where an event's id is.
///
/// The first composite whose parts are all present counts; if none is complete, the first that has any part. A rule
/// that ends with `none` gives an event without a complete composite no id at all: it is never a duplicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdRule {
    composites: Vec<FieldList>,
    or_none: bool,
}

impl IdRule {
    /// The provider has no ids: no event is ever a duplicate.
    pub const NONE: Self = IdRule {
        composites: Vec::new(),
        or_none: true,
    };

    /// A rule with several composites.
    pub const fn first_of(composites: Vec<FieldList>) -> Self {
        IdRule {
            composites,
            or_none: false,
        }
    }

    /// The composites, in the order in which they are tried; none if the provider has no ids.
    pub fn composites(&self) -> &[FieldList] {
        &self.composites
    }

    /// Every field of every composite.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.composites.iter().flat_map(FieldList::fields)
    }

    /// Whether the provider has no ids.
    pub fn is_none(&self) -> bool {
        self.composites.is_empty()
    }

    /// Whether an event may have no id.
    pub fn allows_none(&self) -> bool {
        self.or_none
    }
}

impl From<FieldList> for IdRule {
    fn from(composite: FieldList) -> Self {
        IdRule {
            composites: vec![composite],
            or_none: false,
        }
    }
}

impl fmt::Display for IdRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ways: Vec<String> = self.composites.iter().map(FieldList::to_string).collect();
        ways.extend(self.or_none.then(|| NONE.to_owned()));
        formatter.write_str(&ways.join(", or "))
    }
}

impl<'de> Deserialize<'de> for IdRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdRuleVisitor)
    }
}

struct IdRuleVisitor;

impl<'de> Visitor<'de> for IdRuleVisitor {
    type Value = IdRule;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a location such as \"body:/id\", a list of them, a list of lists that may end with \"none\", or \"none\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<IdRule, E> {
        if text == NONE {
            return Ok(IdRule::NONE);
        }
        let field = text.parse().map_err(E::custom)?;
        Ok(FieldList::new(vec![field]).map_err(E::custom)?.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<IdRule, A::Error> {
        let mut fields: Vec<Field> = Vec::new();
        let mut composites = Vec::new();
        let mut or_none = false;
        while let Some(entry) = sequence.next_element::<Entry>()? {
            if or_none {
                return Err(A::Error::custom("\"none\" must come last"));
            }
            match entry {
                Entry::Field(text) if text == NONE && !composites.is_empty() => or_none = true,
                Entry::Field(text) => fields.push(text.parse().map_err(A::Error::custom)?),
                Entry::Composite(list) => composites.push(list),
            }
        }
        match (fields.is_empty(), composites.is_empty()) {
            (false, false) => Err(A::Error::custom(
                "a list contains either locations or lists of locations, not both",
            )),
            (true, false) => Ok(IdRule { composites, or_none }),
            (_, true) => Ok(FieldList::new(fields).map_err(A::Error::custom)?.into()),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Field(String),
    Composite(FieldList),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Table {
        event_id: IdRule,
    }

    fn read(text: &str) -> Result<String, String> {
        toml::from_str::<Table>(&format!("event_id = {text}"))
            .map(|table| table.event_id.to_string())
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn it_is_a_place_a_composite_several_or_none() {
        assert_eq!(read("\"body:/id\"").unwrap(), "body:/id");
        assert_eq!(read("[\"body:/a\", \"body:/b\"]").unwrap(), "body:/a + body:/b");
        assert_eq!(
            read("[[\"header:x\"], [\"body:/a\", \"body:/b\"]]").unwrap(),
            "header:x, or body:/a + body:/b"
        );
        assert_eq!(read("\"none\"").unwrap(), "none");
        assert_eq!(read("[[\"body:/a\"], \"none\"]").unwrap(), "body:/a, or none");
        for wrong in [
            "[]",
            "[[]]",
            "3",
            "[\"body:/a\", [\"body:/b\"]]",
            "\"id\"",
            "[\"none\"]",
            "[\"none\", [\"body:/a\"]]",
            "[[\"body:/a\"], \"none\", [\"body:/b\"]]",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
