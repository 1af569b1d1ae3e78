//! A Citus cluster that someone has started for tests: a machine rarely has one.

use tokio_postgres::Client;

use crate::ServerError;
use crate::database::connect;

/// Names the cluster: the URL of a database on its coordinator, whose owner may create extensions.
const URL: &str = "HAPAX_TEST_CITUS_URL";
/// Any number, the same in all test processes.
const LOCK: &str = "SELECT pg_advisory_lock(4803, 1)";

/// A database on the cluster, ours alone while this value lives. It is used again and again: a distributed database takes
/// longer to make than most tests.
pub struct Cluster {
    url: String,
    _lock: Client,
}

impl Cluster {
    /// Whether there is a cluster to test with.
    pub fn is_named() -> bool {
        std::env::var_os(URL).is_some()
    }

    /// Waits until no other process uses the database.
    pub async fn join() -> Result<Self, ServerError> {
        let url = std::env::var(URL).map_err(|_| ServerError::NoCluster)?;
        let lock = connect(&url).await?;
        let refused = |source| ServerError::Refused { source };
        let row = lock
            .query_one("SELECT current_database()::text", &[])
            .await
            .map_err(refused)?;
        let database: String = row.try_get(0).map_err(refused)?;
        if !database.contains("test") {
            return Err(ServerError::NotForTests { database });
        }
        lock.execute(LOCK, &[]).await.map_err(refused)?;
        Ok(Self { url, _lock: lock })
    }

    /// Where the database is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where another database on the coordinator is.
    pub fn url_of(&self, database: &str) -> String {
        let (place, options) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let server = place.rsplit_once('/').map_or(place, |(server, _)| server);
        format!("{server}/{database}?{options}")
    }

    /// A connection to it.
    pub async fn client(&self) -> Result<Client, ServerError> {
        connect(&self.url).await
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}
