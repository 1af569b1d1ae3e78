//! JSON, for values that no script reads.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, damaged};

pub(crate) fn write<T: Serialize>(value: &T) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::Damaged(error.to_string()))
}

pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Failure> {
    serde_json::from_slice(bytes).map_err(|_| damaged(what))
}
