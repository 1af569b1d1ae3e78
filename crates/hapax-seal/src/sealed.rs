//! A store behind its keys: values are sealed on the way in and opened on the way out, and the store does not notice.

mod operations;
mod reencrypt;
mod rewrite;
mod store;
mod store_migration;

use std::sync::Arc;

use hapax_core::Backend;
use hapax_core::store::BodyNote;
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
        sealed.reseal_states().await?;
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

    /// Values of sources are few, so all are brought under the first key when the store is opened.
    async fn reseal_states(&self) -> Result<(), OpenError> {
        for state in self.inner.source_states().await? {
            if self.contents.is_current(&state.value) {
                continue;
            }
            let (source, name) = (state.source.clone(), state.name.clone());
            let opened = self.contents.open_state(state);
            let opened =
                opened.map_err(|unopened| unopened.to_error(&format_args!("`{name}` of source {source}")))?;
            let sealed = self.contents.seal_state(opened)?;
            // If the value was taken in between, it stays gone.
            self.inner.take_source_state(&source, &name, Some(sealed)).await?;
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
