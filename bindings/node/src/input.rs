//! Arguments in the forms in which JavaScript has them.

use std::borrow::Cow;
use std::collections::HashMap;

use hapax_bindings::{ErrorCode, KeyMap};
use hapax_verify::{OptionValue, Options};
use http::HeaderMap;
use napi::bindgen_prelude::{Either3, Uint8Array};
use napi::{Either, Error};

/// Text, or bytes.
pub(crate) type TextOrBytes = Either<String, Uint8Array>;
/// `name\nvalue\nname\nvalue…` in one string, which is many times faster to read than a list of pairs.
pub(crate) type Headers = Either<String, Vec<(String, TextOrBytes)>>;
pub(crate) type Keys = HashMap<String, TextOrBytes>;
pub(crate) type OptionInput = Either3<String, Vec<String>, HashMap<String, String>>;

/// The JavaScript error for bad input.
pub(crate) fn thrown(error: hapax_bindings::Error) -> Error<ErrorCode> {
    Error::new(error.code, error.message)
}

/// Text is Latin-1, as Node has it.
pub(crate) fn headers(headers: &Headers) -> HeaderMap {
    let pairs = match headers {
        Either::A(joined) => return hapax_bindings::joined_headers(joined),
        Either::B(pairs) => pairs.iter(),
    };
    hapax_bindings::headers(pairs.map(|(name, value)| match value {
        Either::A(text) => (name, hapax_bindings::latin1(text)),
        Either::B(bytes) => (name, Cow::Borrowed(&**bytes)),
    }))
}

/// A limit in bytes; a negative number or a fraction is not one.
pub(crate) fn body_limit(bytes: Option<f64>) -> Result<Option<usize>, Error<ErrorCode>> {
    let limit = |bytes: f64| hapax_bindings::body_limit(bytes).map_err(thrown);
    bytes.map(limit).transpose()
}

pub(crate) fn keys(keys: Option<Keys>) -> KeyMap {
    keys.into_iter()
        .flatten()
        .map(|(id, key)| match key {
            Either::A(text) => (id, text.into_bytes()),
            Either::B(bytes) => (id, bytes.to_vec()),
        })
        .collect()
}

pub(crate) fn options(options: HashMap<String, OptionInput>) -> Options {
    options
        .into_iter()
        .map(|(name, value)| match value {
            Either3::A(text) => (name, OptionValue::Text(text)),
            Either3::B(list) => (name, OptionValue::List(list)),
            Either3::C(table) => (name, OptionValue::Table(table.into_iter().collect())),
        })
        .collect()
}
