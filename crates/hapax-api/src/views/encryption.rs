//! The keys of an encrypted store.

use std::collections::BTreeMap;

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which keys an encrypted store needs. Keys are named by eight digits that tell nothing about them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EncryptionView {
    /// The first key of `store.encryption_keys`.
    pub first: String,
    /// Keys that values may be under: all of them must be configured.
    pub needed: Vec<String>,
    /// Whether there may be values that are not encrypted.
    pub plain: bool,
    /// Values by key as the last walk over all rows found them, before it brought them under the first one; `plain` are
    /// those that were not encrypted. Null before the first walk has come to its end.
    pub values: Option<BTreeMap<String, u64>>,
    /// When that walk came to its end.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub counted_at: Option<Timestamp>,
}

impl std::fmt::Display for EncryptionView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = &self.first;
        if !self.plain && self.needed.iter().all(|key| key == first) {
            write!(f, "everything is under key {first}; no other key is needed")?;
        } else {
            write!(f, "key {first} writes; needed as well: ")?;
            let others = self.needed.iter().filter(|key| *key != first).map(String::as_str);
            let others: Vec<&str> = others
                .chain(self.plain.then_some("none (values in plain)"))
                .collect();
            write!(f, "{}", others.join(", "))?;
        }
        match &self.values {
            Some(values) if !values.is_empty() => {
                let counts: Vec<String> = values
                    .iter()
                    .map(|(key, count)| format!("{key}: {count}"))
                    .collect();
                write!(f, " (values at the last count: {})", counts.join(", "))
            }
            Some(_) | None => Ok(()),
        }
    }
}
