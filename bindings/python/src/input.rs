//! Arguments in the forms in which Python has them.

use std::collections::BTreeMap;

use hapax_bindings::{HeaderList, KeyMap};
use hapax_verify::{OptionValue, Options};
use pyo3::FromPyObject;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

/// Bytes, or text that stands for them.
#[derive(FromPyObject)]
pub(crate) enum BytesOrText {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

/// The value of an option.
#[derive(FromPyObject)]
pub(crate) enum OptionInput {
    Text(String),
    List(Vec<String>),
    Table(BTreeMap<String, String>),
}

pub(crate) type Headers = Vec<(PyBackedStr, BytesOrText)>;
pub(crate) type Keys = BTreeMap<String, BytesOrText>;

/// Text is Latin-1, as WSGI has it.
pub(crate) fn headers(headers: Headers) -> HeaderList {
    headers
        .into_iter()
        .map(|(name, value)| {
            let value = match value {
                BytesOrText::Bytes(bytes) => bytes.to_vec(),
                BytesOrText::Text(text) => hapax_bindings::latin1(&text),
            };
            (name.to_string(), value)
        })
        .collect()
}

pub(crate) fn keys(keys: Keys) -> KeyMap {
    keys.into_iter()
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
