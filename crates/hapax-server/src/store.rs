//! Opens and closes the configured store.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::Purpose;
use hapax_core::{Backend, Clock, SourceName};
use hapax_seal::Sealed;
use hapax_store_postgres::PostgresStore;
use hapax_store_redis::RedisStore;
use hapax_store_sqlite::SqliteStore;

use hapax_config::{Config, Encryption, StoreUrl};

/// Batches of accepts in progress at once on a store that many connections write to.
const ACCEPTS_IN_FLIGHT: usize = 4;
/// Requests in a batch that is written beside another one.
const FULL_REDIS_ACCEPT: usize = 32;
/// The same on Postgres, where a batch costs more, however small it is.
const FULL_POSTGRES_ACCEPT: usize = 64;
/// The same on SQLite.
const FULL_SQLITE_ACCEPT: usize = 256;
/// How long one step of a migration may take: it counts whole tables.
const COPY_STEP_TIMEOUT: Duration = Duration::from_secs(3_600);
/// The same on Redis, where no step counts a whole store: as long as a failover and a slow server may take together.
const COPY_CALL_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store {} cannot be opened", path.display())]
    Sqlite {
        path: PathBuf,
        source: hapax_store_sqlite::OpenError,
    },
    #[error("the store {place} cannot be opened")]
    Postgres {
        /// The URL without its password.
        place: String,
        source: hapax_store_postgres::OpenError,
    },
    #[error("the store {place} cannot be opened")]
    Redis {
        /// The URL without its password.
        place: String,
        source: hapax_store_redis::OpenError,
    },
    /// The configured keys do not match the store's.
    #[error("the store {place} cannot be opened")]
    Encryption {
        /// The URL without its password.
        place: String,
        source: hapax_seal::OpenError,
    },
    /// The thread that opens it has ended.
    #[error("the store {} was not opened: its thread ended", path.display())]
    Aborted { path: PathBuf },
}

/// An open store of any kind, behind its encryption if it has one.
#[derive(Clone, Debug)]
pub struct OpenStore {
    kind: Kind,
    sealed: Option<Arc<Sealed>>,
}

/// A store without its encryption.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A file that belongs to this process.
    Sqlite(Arc<SqliteStore>),
    /// A database that replicas can share.
    Postgres(Arc<PostgresStore>),
    /// One Redis server or a cluster, which replicas can share.
    Redis(Arc<RedisStore>),
}

impl OpenStore {
    /// Opens the store, and creates it if it does not exist.
    pub async fn open(
        url: &StoreUrl,
        encryption: Option<&Encryption>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let kind = Kind::open(url, clock).await?;
        Self::behind_keys(kind, url, encryption).await
    }

    /// Opens the store with the options of its configuration.
    pub(super) async fn open_to_serve(config: &Config, clock: &Arc<dyn Clock>) -> Result<Self, StoreError> {
        let url = &config.store.url;
        let kind = match url {
            StoreUrl::Redis(secret) => {
                let mut options = hapax_store_redis::Options::new(secret.expose());
                options.wait = waits(config);
                redis(url, options).await?
            }
            StoreUrl::Sqlite(_) | StoreUrl::Postgres(_) => Kind::open(url, clock).await?,
        };
        Self::behind_keys(kind, url, config.store.encryption.as_ref()).await
    }

    /// Opens the store for a migration, as its source or target: with time to count everything, and few connections.
    pub async fn open_to_copy(
        url: &StoreUrl,
        encryption: Option<&Encryption>,
        clock: &Arc<dyn Clock>,
        purpose: Purpose,
    ) -> Result<Self, StoreError> {
        let kind = Kind::open_to_copy(url, clock, purpose).await?;
        Self::behind_keys(kind, url, encryption).await
    }

    /// An encrypted store needs its keys, and any other must not have them.
    async fn behind_keys(
        kind: Kind,
        url: &StoreUrl,
        encryption: Option<&Encryption>,
    ) -> Result<Self, StoreError> {
        let backend = kind.backend();
        let sealed = match encryption.and_then(Encryption::keys) {
            Some(keys) => Sealed::open(backend, keys)
                .await
                .map(|sealed| Some(Arc::new(sealed))),
            None => Sealed::refuse_encrypted(&*backend).await.map(|()| None),
        };
        match sealed {
            Ok(sealed) => Ok(Self { kind, sealed }),
            Err(source) => {
                kind.close().await;
                let place = url.to_string();
                Err(StoreError::Encryption { place, source })
            }
        }
    }

    /// The store that the engine uses.
    pub fn backend(&self) -> Arc<dyn Backend> {
        match &self.sealed {
            Some(sealed) => Arc::clone(sealed) as Arc<dyn Backend>,
            None => self.kind.backend(),
        }
    }

    /// The encryption layer, if the store is encrypted.
    pub const fn sealed(&self) -> Option<&Arc<Sealed>> {
        self.sealed.as_ref()
    }

    /// The store without its encryption.
    pub const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Applies another configuration's options to the store.
    pub(super) fn reconfigure(&self, config: &Config) {
        match &self.kind {
            Kind::Sqlite(_) | Kind::Postgres(_) => {}
            Kind::Redis(store) => store.set_wait(waits(config)),
        }
    }

    /// Settings that work but promise less than they could: logged once, at startup.
    pub fn warnings(&self) -> Vec<String> {
        match &self.kind {
            Kind::Sqlite(_) | Kind::Postgres(_) => Vec::new(),
            Kind::Redis(store) => store.warnings().iter().map(ToString::to_string).collect(),
        }
    }

    /// How many batches of accepts it takes at once. SQLite writes one after another, but need not wait until the
    /// requests of the last one are answered.
    pub const fn accepts_in_flight(&self) -> usize {
        match &self.kind {
            Kind::Sqlite(_) => 2,
            Kind::Postgres(_) | Kind::Redis(_) => ACCEPTS_IN_FLIGHT,
        }
    }

    /// How many requests make a batch worth writing beside another one. On SQLite it only waits for its turn, and might
    /// as well gather more.
    pub const fn full_accept(&self) -> usize {
        match &self.kind {
            Kind::Sqlite(_) => FULL_SQLITE_ACCEPT,
            Kind::Postgres(_) => FULL_POSTGRES_ACCEPT,
            Kind::Redis(_) => FULL_REDIS_ACCEPT,
        }
    }

    /// Flushes and closes the store.
    pub async fn close(&self) {
        self.kind.close().await;
    }
}

impl Kind {
    async fn open(url: &StoreUrl, clock: &Arc<dyn Clock>) -> Result<Self, StoreError> {
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
            StoreUrl::Redis(secret) => {
                let options = hapax_store_redis::Options::new(secret.expose());
                redis(url, options).await
            }
        }
    }

    async fn open_to_copy(
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
                options.idle_timeout = COPY_STEP_TIMEOUT;
                options.step_timeout = COPY_STEP_TIMEOUT;
                let opened = PostgresStore::open(options).await;
                let place = url.to_string();
                opened
                    .map(|store| Self::Postgres(Arc::new(store)))
                    .map_err(|source| StoreError::Postgres { place, source })
            }
            StoreUrl::Redis(secret) => {
                let mut options = hapax_store_redis::Options::new(secret.expose());
                options.purpose = purpose;
                options.call_timeout = COPY_CALL_TIMEOUT;
                redis(url, options).await
            }
        }
    }

    fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Self::Sqlite(store) => Arc::clone(store) as Arc<dyn Backend>,
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn Backend>,
            Self::Redis(store) => Arc::clone(store) as Arc<dyn Backend>,
        }
    }

    async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            // Every acknowledged step is committed; the connections end with the process.
            Self::Postgres(_) | Self::Redis(_) => {}
        }
    }
}

async fn redis(url: &StoreUrl, options: hapax_store_redis::Options) -> Result<Kind, StoreError> {
    match RedisStore::open(options).await {
        Ok(store) => Ok(Kind::Redis(Arc::new(store))),
        Err(source) => Err(StoreError::Redis {
            place: url.to_string(),
            source,
        }),
    }
}

/// How many replicas each source waits for; sources that wait for none are left out.
fn waits(config: &Config) -> BTreeMap<SourceName, u8> {
    let sources = config.sources.values().filter(|source| source.redis_wait > 0);
    sources
        .map(|source| (source.name.clone(), source.redis_wait))
        .collect()
}

async fn sqlite(
    path: PathBuf,
    clock: &Arc<dyn Clock>,
    purpose: Purpose,
) -> Result<Arc<SqliteStore>, StoreError> {
    let mut options = hapax_store_sqlite::Options::new(Arc::clone(clock));
    options.purpose = purpose;
    let file = path.clone();
    // This checks the file and may migrate it: too slow for a thread that serves requests.
    match tokio::task::spawn_blocking(move || SqliteStore::open(&file, options)).await {
        Ok(Ok(store)) => Ok(Arc::new(store)),
        Ok(Err(source)) => Err(StoreError::Sqlite { path, source }),
        Err(_) => Err(StoreError::Aborted { path }),
    }
}
