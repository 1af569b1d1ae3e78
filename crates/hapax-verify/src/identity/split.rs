//! Splits a request that contains several events.

use serde::Deserialize;

use super::extract::range_of;
use super::item::{Item, elements};
use super::nested::{Nested, NestedEvents};
use super::{Pointer, Pointers};
use crate::rejection::Rejection;
use crate::request::{Headers, Request};
use crate::setup::SetupError;
use crate::verification::EventBody;

/// How a request is split.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Split {
    /// Each element of the array at this location is an event.
    Array {
        /// The pointer to the array; the empty pointer is the whole body.
        at: Pointer,
        /// Whether a body without the array is one event.
        #[serde(default)]
        optional: bool,
        /// The only content type that is split; any other request is one event.
        #[serde(default)]
        content_type: Option<String>,
        /// The content type of a single event, if a batch has a different one.
        #[serde(default)]
        event_content_type: Option<String>,
    },
    /// Events in arrays inside arrays, each delivered as if it had been sent alone.
    Nested(Vec<NestedEvents>),
}

/// A compiled split.
#[derive(Debug)]
pub(crate) enum Splitter {
    Array {
        pointers: Pointers,
        place: String,
        optional: bool,
        content_type: Option<String>,
    },
    Nested(Nested),
}

impl Splitter {
    pub(crate) fn new(split: &Split) -> Result<Self, SetupError> {
        match split {
            Split::Nested(events) => Nested::new(events).map(Splitter::Nested),
            Split::Array {
                at,
                optional,
                content_type,
                event_content_type: _,
            } => {
                let mut pointers = Pointers::default();
                pointers.add(at)?;
                Ok(Splitter::Array {
                    pointers,
                    place: format!("body:{at}"),
                    optional: *optional,
                    content_type: content_type.clone(),
                })
            }
        }
    }

    /// The events of a request; `None` if the whole request is one event.
    pub(crate) fn split(&self, request: &Request<'_>) -> Result<Option<Vec<Item>>, Rejection> {
        match self {
            Splitter::Nested(nested) => nested.split(request.body).map(Some),
            Splitter::Array {
                content_type: Some(content_type),
                ..
            } if !has_content_type(request.headers, content_type) => Ok(None),
            Splitter::Array {
                pointers,
                place,
                optional,
                ..
            } => match split_array(pointers, request.body) {
                Ok(items) => Ok(Some(items)),
                Err(SplitError::NoArray(_)) if *optional => Ok(None),
                Err(SplitError::NoArray(detail) | SplitError::Unreadable(detail)) => {
                    Err(Rejection::MalformedBody {
                        looked_in: place.clone(),
                        detail,
                    })
                }
            },
        }
    }
}

/// Why a body could not be split.
enum SplitError {
    /// There is no array to split.
    NoArray(String),
    /// There is an array, but it cannot be read.
    Unreadable(String),
}

fn split_array(pointers: &Pointers, body: &[u8]) -> Result<Vec<Item>, SplitError> {
    let extracted = pointers
        .extract(body)
        .map_err(|error| SplitError::NoArray(error.to_string()))?;
    let array = extracted.raw(0).filter(|raw| raw.starts_with('['));
    let array = array.ok_or_else(|| SplitError::NoArray("there is no array of events".to_owned()))?;
    let elements = elements(array).map_err(|error| SplitError::Unreadable(error.to_string()))?;
    let items = elements.into_iter().map(|element| {
        let own = range_of(element, body);
        Item {
            body: EventBody::Part(own.clone()),
            own,
            known: None,
        }
    });
    Ok(items.collect())
}

/// Compares the content type without its parameters.
pub(crate) fn has_content_type(headers: &dyn Headers, wanted: &str) -> bool {
    let value = headers.get("content-type").unwrap_or_default();
    let kind = value.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes())
}
