//! The id of an event as a rule: composites, in the order in which they are tried.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use super::{Field, FieldList};

/// What a source writes whose sender has no ids and may repeat itself byte for byte.
const NONE: &str = "none";

/// Where an event's id is.
///
/// The first composite whose parts are all there counts; where none is whole, the first that has any part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdRule {
    composites: Vec<FieldList>,
}

impl IdRule {
    /// The sender has no ids: nothing is ever a duplicate.
    pub const NONE: Self = IdRule {
        composites: Vec::new(),
    };

    /// Several composites.
    pub const fn first_of(composites: Vec<FieldList>) -> Self {
        IdRule { composites }
    }

    /// The composites, in the order in which they are tried; none where the sender has no ids.
    pub fn composites(&self) -> &[FieldList] {
        &self.composites
    }

    /// Every field of every composite.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.composites.iter().flat_map(FieldList::fields)
    }

    /// Whether the sender has no ids.
    pub fn is_none(&self) -> bool {
        self.composites.is_empty()
    }
}

impl From<FieldList> for IdRule {
    fn from(composite: FieldList) -> Self {
        IdRule {
            composites: vec![composite],
        }
    }
}

impl fmt::Display for IdRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return formatter.write_str(NONE);
        }
        for (index, composite) in self.composites.iter().enumerate() {
            if index > 0 {
                formatter.write_str(", or ")?;
            }
            composite.fmt(formatter)?;
        }
        Ok(())
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
        formatter.write_str("a place such as \"body:/id\", a list of them, a list of lists, or \"none\"")
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
        while let Some(entry) = sequence.next_element::<Entry>()? {
            match entry {
                Entry::Field(text) => fields.push(text.parse().map_err(A::Error::custom)?),
                Entry::Composite(list) => composites.push(list),
            }
        }
        match (fields.is_empty(), composites.is_empty()) {
            (false, false) => Err(A::Error::custom(
                "a list holds either places or lists of places, not both",
            )),
            (true, false) => Ok(IdRule { composites }),
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
        for wrong in ["[]", "[[]]", "3", "[\"body:/a\", [\"body:/b\"]]", "\"id\""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
