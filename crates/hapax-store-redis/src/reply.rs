//! Decoding the answers of scripts.

use redis::Value;

use crate::failure::{Failure, damaged};

pub(crate) fn list(value: Value) -> Result<Vec<Value>, Failure> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(damaged("a list")),
    }
}

/// A list of exactly `N` values.
pub(crate) fn exactly<const N: usize>(value: Value) -> Result<[Value; N], Failure> {
    list(value)?.try_into().map_err(|_| damaged("a short list"))
}

pub(crate) fn bytes(value: Value) -> Result<Vec<u8>, Failure> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.into_bytes()),
        _ => Err(damaged("a value")),
    }
}

pub(crate) fn optional_bytes(value: Value) -> Result<Option<Vec<u8>>, Failure> {
    match value {
        Value::Nil => Ok(None),
        other => bytes(other).map(Some),
    }
}

pub(crate) fn text(value: Value) -> Result<String, Failure> {
    String::from_utf8(bytes(value)?).map_err(|_| damaged("a text"))
}

/// A number, also as text, also in the form Redis uses for scores.
pub(crate) fn number(value: Value) -> Result<u64, Failure> {
    match value {
        Value::Int(number) => u64::try_from(number).map_err(|_| damaged("a number")),
        Value::Double(number) => Ok(number as u64),
        other => {
            let text = text(other)?;
            let exact = text.parse::<u64>().ok();
            let number = exact.or_else(|| text.parse::<f64>().ok().map(|score| score as u64));
            number.ok_or_else(|| damaged("a number"))
        }
    }
}

/// Names with their values.
pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Alternating names and values.
pub(crate) fn pairs(value: Value) -> Result<Pairs, Failure> {
    if let Value::Map(entries) = value {
        let entries = entries
            .into_iter()
            .map(|(name, value)| Ok((bytes(name)?, bytes(value)?)));
        return entries.collect();
    }
    let mut items = list(value)?.into_iter();
    let mut pairs = Vec::with_capacity(items.len() / 2);
    while let (Some(name), Some(value)) = (items.next(), items.next()) {
        pairs.push((bytes(name)?, bytes(value)?));
    }
    Ok(pairs)
}
