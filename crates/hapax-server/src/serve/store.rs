//! Opening and closing the store that the configuration names.

use std::path::PathBuf;
use std::sync::Arc;

use hapax_core::Clock;
use hapax_store_sqlite::{OpenError, Options, SqliteStore};

use crate::config::StoreUrl;

/// The store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite says why and what to do.
    #[error("the store {} cannot be opened", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        source: OpenError,
    },
    /// The thread that opens it is gone.
    #[error("the store {} was not opened: its thread ended", path.display())]
    Aborted {
        /// The file.
        path: PathBuf,
    },
}

/// Opens it. A file that is not there yet is created.
pub(super) async fn open(url: &StoreUrl, clock: &Arc<dyn Clock>) -> Result<Arc<SqliteStore>, StoreError> {
    let StoreUrl::Sqlite(path) = url;
    let options = Options::new(Arc::clone(clock));
    let (file, path) = (path.clone(), path.clone());
    // It checks the file and may migrate it: nothing for a thread that serves requests.
    let opened = tokio::task::spawn_blocking(move || SqliteStore::open(&file, options)).await;
    match opened {
        Ok(Ok(store)) => Ok(Arc::new(store)),
        Ok(Err(source)) => Err(StoreError::Sqlite { path, source }),
        Err(_) => Err(StoreError::Aborted { path }),
    }
}

/// Writes down what is left and gives the file free.
pub(super) async fn close(store: &SqliteStore) {
    store.close().await;
}
