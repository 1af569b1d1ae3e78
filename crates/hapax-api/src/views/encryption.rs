//! The keys of an encrypted store.

use std::collections::BTreeMap;

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which keys an encrypted store needs. Keys are identified by eight digits that reveal nothing about them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EncryptionView {
    /// The first key of `store.encryption_keys`, which encrypts new values.
    pub first: String,
    /// Keys that stored values may be encrypted with. All of them must be configured.
    pub needed: Vec<String>,
    /// Whether the store may contain values that are not encrypted.
    pub plain: bool,
    /// The number of values by key that the last pass over all rows found before it re-encrypted them with the first
    /// key; `plain` counts unencrypted values. Null until the first pass has finished.
    pub values: Option<BTreeMap<String, u64>>,
    /// When that pass finished.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub counted_at: Option<Timestamp>,
}

impl std::fmt::Display for EncryptionView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = &self.first;
        if !self.plain && self.needed.iter().all(|key| key == first) {
            write!(
                f,
                "all values are encrypted with key {first}; no other key is needed"
            )?;
        } else {
            write!(f, "key {first} encrypts; also needed: ")?;
            let others = self.needed.iter().filter(|key| *key != first).map(String::as_str);
            let others: Vec<&str> = others
                .chain(self.plain.then_some("none (plain values)"))
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
