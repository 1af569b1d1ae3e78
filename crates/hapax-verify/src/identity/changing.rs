//! Values that differ between attempts at one event, as named by a rule.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::Pointer;

/// A value that a provider changes between attempts at an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changing {
    /// The value at this pointer into the event's own JSON body: `/attempt`.
    Json(Pointer),
    /// The values with this name in a form body: `form:token`.
    Form(String),
}

impl fmt::Display for Changing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Changing::Json(pointer) => pointer.fmt(formatter),
            Changing::Form(name) => write!(formatter, "form:{name}"),
        }
    }
}

impl<'de> Deserialize<'de> for Changing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.strip_prefix("form:") {
            Some(name) => Ok(Changing::Form(name.to_owned())),
            None => text.parse().map(Changing::Json).map_err(D::Error::custom),
        }
    }
}
