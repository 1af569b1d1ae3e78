//! Opening and closing the store that the configuration names.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::Purpose;
use hapax_core::{Backend, Clock};
use hapax_store_postgres::PostgresStore;
use hapax_store_sqlite::SqliteStore;

use crate::config::StoreUrl;

/// Batches of accepts under way at once on a store that many connections write to.
const ACCEPTS_IN_FLIGHT: usize = 4;
/// How long one step of a copy may take: it counts whole tables.
const COPY_STEP_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite says why and what to do.
    #[error("the store {} cannot be opened", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        source: hapax_store_sqlite::OpenError,
    },
    /// Postgres says why and what to do.
    #[error("the store {place} cannot be opened")]
    Postgres {
        /// Where it is, without its password.
        place: String,
        /// Why.
        source: hapax_store_postgres::OpenError,
    },
    /// The thread that opens it is gone.
    #[error("the store {} was not opened: its thread ended", path.display())]
    Aborted {
        /// The file.
        path: PathBuf,
    },
}

/// An open store of any kind.
#[derive(Clone, Debug)]
pub enum OpenStore {
    /// A file of this process.
    Sqlite(Arc<SqliteStore>),
    /// A database for many.
    Postgres(Arc<PostgresStore>),
}

impl OpenStore {
    /// Opens it. What is not there yet is created.
    pub async fn open(url: &StoreUrl, clock: &Arc<dyn Clock>) -> Result<Self, StoreError> {
        match url {
            StoreUrl::Sqlite(path) => sqlite(path.clone(), clock, Purpose::Serve)
                .await
                .map(Self::Sqlite),
            StoreUrl::Postgres(secret) => {
                let options = hapax_store_postgres::Options::new(secret.expose());
                match PostgresStore::open(options).await {
                    Ok(store) => Ok(Self::Postgres(Arc::new(store))),
                    Err(source) => Err(StoreError::Postgres {
                        place: url.to_string(),
                        source,
                    }),
                }
            }
        }
    }

    /// Opens it to copy from it or into it: with time to count everything, and few connections.
    pub async fn open_to_copy(
        url: &StoreUrl,
        clock: &Arc<dyn Clock>,
        purpose: Purpose,
    ) -> Result<Self, StoreError> {
        match url {
            StoreUrl::Sqlite(path) => sqlite(path.clone(), clock, purpose).await.map(Self::Sqlite),
            StoreUrl::Postgres(secret) => {
                let mut options = hapax_store_postgres::Options::new(secret.expose());
                options.purpose = purpose;
                options.statement_timeout = COPY_STEP_TIMEOUT;
                options.step_timeout = COPY_STEP_TIMEOUT;
                let opened = PostgresStore::open(options).await;
                let place = url.to_string();
                opened
                    .map(|store| Self::Postgres(Arc::new(store)))
                    .map_err(|source| StoreError::Postgres { place, source })
            }
        }
    }

    /// What the engine works on.
    pub fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Self::Sqlite(store) => Arc::clone(store) as Arc<dyn Backend>,
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn Backend>,
        }
    }

    /// How many batches of accepts it takes at once.
    pub(super) const fn accepts_in_flight(&self) -> usize {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => ACCEPTS_IN_FLIGHT,
        }
    }

    /// Writes down what is left and lets go of it.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            // Every answered step is committed; its connections end with the process.
            Self::Postgres(_) => {}
        }
    }
}

async fn sqlite(
    path: PathBuf,
    clock: &Arc<dyn Clock>,
    purpose: Purpose,
) -> Result<Arc<SqliteStore>, StoreError> {
    let mut options = hapax_store_sqlite::Options::new(Arc::clone(clock));
    options.purpose = purpose;
    let file = path.clone();
    // It checks the file and may migrate it: nothing for a thread that serves requests.
    match tokio::task::spawn_blocking(move || SqliteStore::open(&file, options)).await {
        Ok(Ok(store)) => Ok(Arc::new(store)),
        Ok(Err(source)) => Err(StoreError::Sqlite { path, source }),
        Err(_) => Err(StoreError::Aborted { path }),
    }
}
