//! MessagePack, which scripts can read and write, too. They know strings, but not bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, damaged};

/// Structs as maps, so that scripts can name their fields.
pub(crate) fn pack<T: Serialize>(value: &T) -> Result<Vec<u8>, Failure> {
    rmp_serde::to_vec_named(value).map_err(|error| Failure::Damaged(error.to_string()))
}

pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Failure> {
    rmp_serde::from_slice(bytes).map_err(|_| damaged(what))
}
