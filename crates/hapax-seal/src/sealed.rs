//! A store behind its keys: values are sealed on the way in and opened on the way out, and the store does not notice.

mod operations;
mod reencrypt;
mod rewrite;
mod store;
mod store_migration;

use std::sync::Arc;

use hapax_core::store::{BodyNote, Error, NamedValue, ValueSpace, ValueSwap};
use hapax_core::{Backend, SourceName};
use parking_lot::Mutex;

use crate::contents::Contents;
use crate::keyring::{self, OpenError, Rows};
use crate::keys::Keys;
use reencrypt::Walk;

pub use reencrypt::Reencrypted;

/// A store whose contents are encrypted.
pub struct Sealed {
    inner: Arc<dyn Backend>,
    contents: Arc<Contents>,
    /// As of the last read of the keyring.
    rows: Mutex<Rows>,
    /// The walk in progress in this process.
    walk: Mutex<Option<Walk>>,
    /// Distinguishes this process from others that walk.
    walker: u64,
    /// The remembered bodies of the export in progress, in order.
    exported: Mutex<Arc<Vec<BodyNote>>>,
}

impl Sealed {
    /// Opens a store with keys. Creates the keyring if it is missing.
    pub async fn open(inner: Arc<dyn Backend>, keys: Keys) -> Result<Self, OpenError> {
        let ring = keyring::open(&*inner, &keys).await?;
        let sealed = Self {
            inner,
            contents: Arc::new(Contents {
                keys,
                digests: ring.digests,
            }),
            rows: Mutex::new(ring.rows),
            walk: Mutex::default(),
            walker: reencrypt::walker(),
            exported: Mutex::default(),
        };
        sealed.reseal_values().await?;
        Ok(sealed)
    }

    /// Refuses an encrypted store, for a process without keys.
    pub async fn refuse_encrypted(store: &dyn Backend) -> Result<(), OpenError> {
        keyring::refuse_encrypted(store).await
    }

    /// The forms that rows may be in: under which keys, and whether plain.
    pub fn rows(&self) -> Rows {
        self.rows.lock().clone()
    }

    /// The plain value of a source.
    fn open_value(&self, source: &SourceName, name: &str, stored: &[u8]) -> Result<Vec<u8>, Error> {
        let opened = self.contents.open_value(source, name, stored);
        opened.map_err(|unopened| unopened.to_error(&format_args!("`{name}` of source {source}")))
    }

    /// Values of sources are few, so all are brought under the first key when the store is opened.
    async fn reseal_values(&self) -> Result<(), OpenError> {
        for source in self.inner.sources_with_values().await? {
            let space = ValueSpace::Source(source.clone());
            for NamedValue { name, value } in self.inner.values(&space).await? {
                if self.contents.is_current(&value) {
                    continue;
                }
                let opened = self.open_value(&source, &name, &value)?;
                let sealed = self.contents.seal_value(&source, &name, &opened)?;
                // If the value was replaced or removed in between, it stays so.
                let swap = ValueSwap::exact(space.clone(), name, Some(value), Some(sealed));
                self.inner.swap_value(swap).await?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealed")
            .field("keys", &self.contents.keys)
            .finish_non_exhaustive()
    }
}
