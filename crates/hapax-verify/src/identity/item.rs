//! One event of a request that contains several, and the elements that it is cut from.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::limits::BATCH_EVENTS_MAX;
use crate::verification::EventBody;

/// One event of a request.
pub(crate) struct Item {
    /// Its own bytes, which determine its content.
    pub(crate) own: Range<usize>,
    /// The body that destinations receive.
    pub(crate) body: EventBody,
    /// Its id and type, if the split determines them instead of the rule.
    pub(crate) known: Option<KnownItem>,
}

/// The id and type that a split determines.
pub(crate) struct KnownItem {
    /// The parts of its id; empty if it has none.
    pub(crate) id: Vec<Option<String>>,
    pub(crate) event_type: Option<String>,
}

/// The raw text of each element, up to the limit.
pub(super) fn elements(array: &str) -> Result<Vec<&str>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(array);
    let elements = Elements.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(elements)
}

struct Elements;

impl<'body> DeserializeSeed<'body> for Elements {
    type Value = Vec<&'body str>;

    fn deserialize<D: Deserializer<'body>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'body> Visitor<'body> for Elements {
    type Value = Vec<&'body str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'body>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while elements.len() < BATCH_EVENTS_MAX {
            match sequence.next_element::<&'body RawValue>()? {
                Some(raw) => elements.push(raw.get()),
                None => return Ok(elements),
            }
        }
        match sequence.next_element::<IgnoredAny>()? {
            None => Ok(elements),
            Some(_) => Err(serde::de::Error::custom(format_args!(
                "it has more than {BATCH_EVENTS_MAX} events"
            ))),
        }
    }
}
