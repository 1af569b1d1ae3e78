//! Arguments in the forms in which Python has them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hapax_bindings::KeyMap;
use hapax_verify::{OptionValue, Options};
use http::HeaderMap;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyAnyMethods as _, PyString};
use pyo3::{Borrowed, FromPyObject, PyAny, PyErr};

/// Bytes, or text that stands for them.
pub(crate) enum BytesOrText {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

/// Written by hand: the derived one makes an exception for every text, which costs more than the rest of a header.
impl<'a, 'py> FromPyObject<'a, 'py> for BytesOrText {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, PyErr> {
        if object.is_instance_of::<PyString>() {
            return Ok(Self::Text(object.extract()?));
        }
        Ok(Self::Bytes(object.extract()?))
    }
}

/// The value of an option.
#[derive(FromPyObject)]
pub(crate) enum OptionInput {
    Text(String),
    List(Vec<String>),
    Table(BTreeMap<String, String>),
}

pub(crate) type Headers = Vec<(BytesOrText, BytesOrText)>;
pub(crate) type Keys = BTreeMap<String, BytesOrText>;

pub(crate) fn headers(headers: &Headers) -> HeaderMap {
    hapax_bindings::headers(headers.iter().map(|(name, value)| (bytes(name), bytes(value))))
}

/// Text is Latin-1, as WSGI has it.
fn bytes(part: &BytesOrText) -> Cow<'_, [u8]> {
    match part {
        BytesOrText::Bytes(bytes) => Cow::Borrowed(bytes),
        BytesOrText::Text(text) => hapax_bindings::latin1(text),
    }
}

pub(crate) fn keys(keys: Option<Keys>) -> KeyMap {
    keys.into_iter()
        .flatten()
        .map(|(id, key)| match key {
            BytesOrText::Bytes(bytes) => (id, bytes.to_vec()),
            BytesOrText::Text(text) => (id, text.as_bytes().to_vec()),
        })
        .collect()
}

pub(crate) fn options(options: BTreeMap<String, OptionInput>) -> Options {
    options
        .into_iter()
        .map(|(name, value)| match value {
            OptionInput::Text(text) => (name, OptionValue::Text(text)),
            OptionInput::List(list) => (name, OptionValue::List(list)),
            OptionInput::Table(table) => (name, OptionValue::Table(table)),
        })
        .collect()
}
