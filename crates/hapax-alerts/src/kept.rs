//! Alerts as the store keeps them: read, and swapped if they are unchanged. Every query has a time limit.

use std::sync::Arc;

use hapax_core::Backend;
use hapax_core::store::{NamedValue, Swapped, ValueSpace, ValueSwap};

use super::facts::ANSWER_TIMEOUT;
use super::row::Row;

#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) name: String,
    /// The stored bytes: a swap requires that they are unchanged, byte for byte.
    bytes: Vec<u8>,
    pub(super) row: Row,
}

/// The store did not answer, or refused.
#[derive(Debug)]
pub(super) struct NoAnswer;

/// Where alerts are stored.
#[derive(Clone)]
pub(super) struct Shelf(pub(super) Arc<dyn Backend>);

impl Shelf {
    /// Every alert that this version can read.
    pub(super) async fn all(&self) -> Result<Vec<Kept>, NoAnswer> {
        let all = tokio::time::timeout(ANSWER_TIMEOUT, self.0.values(&ValueSpace::Alerts)).await;
        let values = all.map_err(|_| NoAnswer)?.map_err(|_| NoAnswer)?;
        // Alerts that a newer version wrote are left to it.
        let readable = values.into_iter().filter_map(|NamedValue { name, value }| {
            let row = serde_json::from_slice(&value).ok()?;
            let bytes = value;
            Some(Kept { name, bytes, row })
        });
        Ok(readable.collect())
    }

    pub(super) async fn one(&self, name: &str) -> Result<Option<Kept>, NoAnswer> {
        Ok(self.all().await?.into_iter().find(|kept| kept.name == name))
    }

    /// Stores a new alert if none exists.
    pub(super) async fn add(&self, name: String, row: Row) -> Option<Kept> {
        let bytes = serde_json::to_vec(&row).ok()?;
        let added = self.swap(&name, None, Some(bytes.clone())).await;
        added.then_some(Kept { name, bytes, row })
    }

    /// Replaces the alert that was read; a `row` of `None` deletes it. The outer option says whether the swap
    /// succeeded.
    pub(super) async fn change(&self, kept: &Kept, row: Option<Row>) -> Option<Option<Kept>> {
        let Some(row) = row else {
            let gone = self.swap(&kept.name, Some(kept.bytes.clone()), None).await;
            return gone.then_some(None);
        };
        let bytes = serde_json::to_vec(&row).ok()?;
        let changed = self
            .swap(&kept.name, Some(kept.bytes.clone()), Some(bytes.clone()))
            .await;
        let name = kept.name.clone();
        changed.then_some(Some(Kept { name, bytes, row }))
    }

    async fn swap(&self, name: &str, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> bool {
        let swap = ValueSwap::exact(ValueSpace::Alerts, name, before, after);
        let swapped = tokio::time::timeout(ANSWER_TIMEOUT, self.0.swap_value(swap)).await;
        matches!(swapped, Ok(Ok(Swapped::Done)))
    }
}
