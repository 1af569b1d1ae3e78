//! Alerts as the store keeps them: read, and swapped if they are still so. Every question has a limit in time.

use std::sync::Arc;

use hapax_core::Backend;

use super::facts::ANSWER_TIMEOUT;
use super::row::Row;

/// An alert as it was read.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) name: String,
    /// As the store has it: what is swapped must be the same, byte for byte.
    bytes: Vec<u8>,
    pub(super) row: Row,
}

/// The store did not answer, or refused.
#[derive(Debug)]
pub(super) struct NoAnswer;

/// Where alerts are kept.
#[derive(Clone)]
pub(super) struct Shelf(pub(super) Arc<dyn Backend>);

impl Shelf {
    /// Every alert that this program can read.
    pub(super) async fn all(&self) -> Result<Vec<Kept>, NoAnswer> {
        let all = tokio::time::timeout(ANSWER_TIMEOUT, self.0.alerts()).await;
        let states = all.map_err(|_| NoAnswer)?.map_err(|_| NoAnswer)?;
        // What a newer program wrote is its business.
        let readable = states.into_iter().filter_map(|state| {
            let row = serde_json::from_slice(&state.value).ok()?;
            Some(Kept {
                name: state.name,
                bytes: state.value,
                row,
            })
        });
        Ok(readable.collect())
    }

    /// One alert.
    pub(super) async fn one(&self, name: &str) -> Result<Option<Kept>, NoAnswer> {
        Ok(self.all().await?.into_iter().find(|kept| kept.name == name))
    }

    /// Puts a new alert there, if there is none.
    pub(super) async fn add(&self, name: String, row: Row) -> Option<Kept> {
        let bytes = serde_json::to_vec(&row).ok()?;
        let added = self.swap(&name, None, Some(bytes.clone())).await;
        added.then_some(Kept { name, bytes, row })
    }

    /// Puts a value in the place of the one that was read; none: takes it away. The outer option says whether it did.
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
        let swapped = self.0.swap_alert(name, before, after);
        matches!(tokio::time::timeout(ANSWER_TIMEOUT, swapped).await, Ok(Ok(true)))
    }
}
