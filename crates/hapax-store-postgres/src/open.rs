//! Opening: is the server new enough, are its commits durable, and is the schema ours?

use std::error::Error as StdError;

use hapax_core::store::Purpose;
use tokio_postgres::Client;

use crate::connect::{ConnectError, Connector};
use crate::{Options, Spread, schema, store_migration};

/// The oldest supported server version.
const SERVER_VERSION_MIN: u32 = 140_000;

/// A store could not be opened. No message quotes the URL: it may hold a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL, or a file that it names, cannot be read.
    #[error("the database's URL cannot be used: {reason}")]
    Url { reason: String },
    /// The server cannot be reached, or it refuses the connection.
    #[error("the database cannot be reached: is it running, and are host, port, name and password correct?")]
    Unreachable {
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server is too old.
    #[error("the database server is version {found}; PostgreSQL 14 or newer is required")]
    OldServer {
        /// The server's version, in its own words.
        found: String,
    },
    /// The server may lose committed transactions.
    #[error(
        "the database runs with {setting} = off, and may lose events that were acknowledged as stored: turn it on, or \
         set `Options::allow_unsafe_durability` if losing events is acceptable"
    )]
    UnsafeDurability {
        /// `fsync` or `synchronous_commit`.
        setting: &'static str,
    },
    /// The schema was written by a newer version.
    #[error(
        "the schema `hapax` in the database has version {found}, and this program serves at most version \
         {supported}: run the newer program, or restore a backup from before the upgrade"
    )]
    NewerSchema {
        /// The database's version.
        found: u32,
        /// The newest version this program supports.
        supported: u32,
    },
    /// A schema with this name exists and is not ours.
    #[error("the schema `hapax` in the database belongs to another program and was not changed")]
    NotOurs,
    /// The database belongs to a migration that was not finished.
    #[error(
        "the schema `hapax` in the database holds an unfinished store migration and is not served: run \
         `hapax store migrate` again, which resumes where it stopped, or drop the schema"
    )]
    UnfinishedCopy,
    /// Reading or migrating the schema failed.
    #[error("the schema `hapax` cannot be set up in the database")]
    Database {
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl OpenError {
    pub(crate) fn database(error: tokio_postgres::Error) -> Self {
        Self::Database {
            source: Box::new(error),
        }
    }

    fn unreachable(error: ConnectError) -> Self {
        Self::Unreachable {
            source: Box::new(error),
        }
    }
}

/// Checks the server and migrates the schema to our version. Returns how to connect from then on, and how the tables
/// are distributed.
pub(crate) async fn open(options: &Options) -> Result<(Connector, Spread), OpenError> {
    let connector = Connector::new(&options.url, options.connect_timeout, options.step_timeout)
        .map_err(|reason| OpenError::Url { reason })?
        .preparing(options.preparing);
    let client = connector.connect().await.map_err(OpenError::unreachable)?.client;
    check_version(&client).await?;
    check_durability(&client, options).await?;
    schema::migrate(&client).await?;
    if options.purpose == Purpose::Serve {
        refuse_unfinished_copy(&client).await?;
    }
    let spread = match options.spread {
        Some(spread) => spread,
        None => find_spread(&client).await?,
    };
    Ok((connector, spread))
}

/// Asks Citus, where it is installed, whether the tables are distributed.
async fn find_spread(client: &Client) -> Result<Spread, OpenError> {
    let catalogue = client
        .query_typed(
            "SELECT 1 WHERE to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL",
            &[],
        )
        .await
        .map_err(OpenError::database)?;
    if catalogue.is_empty() {
        return Ok(Spread::Whole);
    }
    let distributed = client
        .query_typed(
            "SELECT 1 FROM pg_catalog.pg_dist_partition
             WHERE logicalrelid = to_regclass('hapax.work') AND partmethod = 'h'",
            &[],
        )
        .await
        .map_err(OpenError::database)?;
    if distributed.is_empty() {
        return Ok(Spread::Whole);
    }
    tracing::info!("the tables are distributed by bucket");
    Ok(Spread::ByBucket)
}

async fn refuse_unfinished_copy(client: &Client) -> Result<(), OpenError> {
    let is_unfinished = store_migration::is_unfinished_copy(client).await;
    if is_unfinished.map_err(OpenError::database)? {
        return Err(OpenError::UnfinishedCopy);
    }
    Ok(())
}

async fn check_version(client: &Client) -> Result<(), OpenError> {
    let number = setting(client, "server_version_num").await?;
    if number
        .parse::<u32>()
        .is_ok_and(|number| number >= SERVER_VERSION_MIN)
    {
        return Ok(());
    }
    Err(OpenError::OldServer {
        found: setting(client, "server_version").await?,
    })
}

async fn check_durability(client: &Client, options: &Options) -> Result<(), OpenError> {
    for name in ["fsync", "synchronous_commit"] {
        if setting(client, name).await? == "off" {
            if !options.allow_unsafe_durability {
                return Err(OpenError::UnsafeDurability { setting: name });
            }
            tracing::warn!(setting = name, "the database may lose committed transactions");
        }
    }
    Ok(())
}

async fn setting(client: &Client, name: &str) -> Result<String, OpenError> {
    let rows = client
        .query_typed("SELECT current_setting($1::text)", crate::bind::bind![name])
        .await
        .map_err(OpenError::database)?;
    match rows.first() {
        Some(row) => row.try_get(0).map_err(OpenError::database),
        None => Ok(String::new()),
    }
}
