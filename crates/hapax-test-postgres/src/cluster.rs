//! A Citus cluster that was started for tests; few machines have one.

use tokio_postgres::Client;

use crate::ServerError;
use crate::database::connect;

/// The URL of a database on the cluster's coordinator, whose owner may create extensions.
const URL: &str = "HAPAX_TEST_CITUS_URL";
/// Any number, as long as all test processes use the same.
const LOCK: &str = "SELECT pg_advisory_lock(4803, 1)";

/// A database on the cluster, exclusively ours while this value lives. It is reused, because a distributed database
/// takes longer to create than most tests.
pub struct Cluster {
    url: String,
    _lock: Client,
}

impl Cluster {
    /// Whether a cluster is configured.
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

    /// The URL of the database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of another database on the coordinator.
    pub fn url_of(&self, database: &str) -> String {
        let (place, options) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let server = place.rsplit_once('/').map_or(place, |(server, _)| server);
        format!("{server}/{database}?{options}")
    }

    pub async fn client(&self) -> Result<Client, ServerError> {
        connect(&self.url).await
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may contain a password.
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}
