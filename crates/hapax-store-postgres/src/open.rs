//! Opening: is the server new enough, are its commits durable, and is the schema ours?

use hapax_core::store::Purpose;
use tokio_postgres::Client;

use crate::connect::Connector;
use crate::open_error::OpenError;
use crate::{Options, Spread, import_mark, schema};

/// The oldest supported server version.
const SERVER_VERSION_MIN: u32 = 140_000;

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
        refuse_unfinished_migration(&client).await?;
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

async fn refuse_unfinished_migration(client: &Client) -> Result<(), OpenError> {
    if import_mark::is_there(client).await.map_err(OpenError::database)? {
        return Err(OpenError::UnfinishedMigration);
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
