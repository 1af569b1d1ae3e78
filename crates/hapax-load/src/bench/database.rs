//! The servers of the store's database, found as processes of this machine.
//!
//! A server names its own process, but it may run on another machine or in a container, where the same number means
//! another process here. So a process counts only if it has a server's name and was started when the server says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hapax_core::Secret;
use hapax_store_postgres::Connector;

use crate::processor::{self, Tree};
use crate::redis::Redis;

use super::plan::{Plan, StoreKind};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The kernel and Redis round to a second, and a server notes its start a little after it was started.
const START_TOLERANCE: Duration = Duration::from_secs(5);
const POSTGRES_NAMES: [&str; 2] = ["postgres", "postmaster"];
const REDIS_NAMES: [&str; 2] = ["redis-server", "valkey-server"];

/// One line: the process of the session, and when its server was started.
const SERVER: &str =
    "SELECT pg_backend_pid() || ' ' || extract(epoch FROM pg_postmaster_start_time())::float8";
const IS_CITUS: &str = "SELECT to_regclass('pg_catalog.pg_dist_node') IS NOT NULL";

/// The database under a store.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Database {
    /// The store is a file, which the service itself reads and writes.
    File,
    /// Every server runs on this machine.
    Here(Vec<Tree>),
    /// A server runs elsewhere, or cannot be told apart from other processes.
    Elsewhere,
}

impl Database {
    /// Finds the servers of the plan's store.
    pub(super) async fn find(plan: &Plan) -> anyhow::Result<Self> {
        let servers = match (plan.kind(), &plan.store) {
            (StoreKind::Sqlite, _) | (_, None) => return Ok(Self::File),
            (StoreKind::Postgres, Some(url)) => postgres(&Secret::new(url)).await?,
            (StoreKind::Redis, Some(url)) => redis(&Secret::new(url)).await?,
        };
        Ok(servers.map_or(Self::Elsewhere, Self::Here))
    }

    /// The processor time of all its processes so far, if it is known.
    pub(super) fn processor_time(&self) -> Option<Duration> {
        match self {
            Self::File | Self::Elsewhere => None,
            Self::Here(servers) => servers.iter().map(|server| server.processor_time()).sum(),
        }
    }

    /// What the figures leave out.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::File | Self::Here(_) => None,
            Self::Elsewhere => Some(
                "the processor time of the database is left out: not all of its servers run as processes of this machine"
                    .to_owned(),
            ),
        }
    }
}

/// Every server that a database consists of: one, or the nodes of a Citus cluster. `None` if one is not here.
async fn postgres(url: &Secret) -> anyhow::Result<Option<Vec<Tree>>> {
    let connector = Connector::new(url, CONNECT_TIMEOUT, CONNECT_TIMEOUT)
        .map_err(|why| anyhow::anyhow!("the store's URL cannot be used: {why}"))?;
    let client = connector.connect().await?.client;
    let mut reports: Vec<Option<String>> = vec![client.query_one(SERVER, &[]).await?.try_get(0)?];
    if client.query_one(IS_CITUS, &[]).await?.try_get(0)? {
        let nodes = format!("SELECT success, result FROM run_command_on_all_nodes($${SERVER}$$)");
        for row in client.query(&nodes, &[]).await? {
            let is_reached: bool = row.try_get(0)?;
            reports.push(if is_reached { row.try_get(1)? } else { None });
        }
    }
    let mut servers = Vec::new();
    // The sessions are still open: their processes lead to the servers'.
    for report in reports {
        let Some(server) = report.as_deref().and_then(postmaster) else {
            return Ok(None);
        };
        // The first server of a cluster names itself twice.
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    Ok(Some(servers))
}

/// The server of a session, from its own report.
fn postmaster(report: &str) -> Option<Tree> {
    let (session, started_at) = parse(report)?;
    let root = processor::parent(session)?;
    named(session, &POSTGRES_NAMES).then_some(())?;
    server(root, &POSTGRES_NAMES, started_at)
}

/// The process of a session, and when its server was started.
fn parse(report: &str) -> Option<(u32, Duration)> {
    let (session, started_at) = report.split_once(' ')?;
    let started_at = Duration::try_from_secs_f64(started_at.parse().ok()?).ok()?;
    Some((session.parse().ok()?, started_at))
}

async fn redis(url: &Secret) -> anyhow::Result<Option<Vec<Tree>>> {
    let masters = Redis::connect(url).await?.processes().await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let servers = masters
        .iter()
        .map(|master| server(master.pid, &REDIS_NAMES, now.saturating_sub(master.uptime)));
    Ok(servers.collect())
}

fn server(root: u32, names: &[&str], started_at: Duration) -> Option<Tree> {
    let is_it = named(root, names) && processor::started_at(root)?.abs_diff(started_at) <= START_TOLERANCE;
    is_it.then(|| Tree::of(root)).flatten()
}

fn named(pid: u32, names: &[&str]) -> bool {
    processor::name(pid).is_some_and(|name| names.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hapax_test_redis::{Cluster, fresh_prefix};

    use super::*;

    fn plan(store: Option<String>) -> Plan {
        Plan {
            store,
            ..Plan::quick(PathBuf::new())
        }
    }

    #[test]
    fn a_report_is_read_with_its_fractions() {
        let started_at = Duration::from_millis(1_767_225_598_250);
        assert_eq!(parse("4711 1767225598.25"), Some((4711, started_at)));
        assert_eq!(parse("4711"), None);
        assert_eq!(parse("4711 never"), None);
        assert_eq!(parse("4711 -1"), None);
    }

    #[test]
    fn another_process_with_the_same_number_is_not_the_server() {
        let pid = std::process::id();
        let started_at = processor::started_at(pid).unwrap();
        let name = processor::name(pid).unwrap();
        assert!(server(pid, &[&name], started_at).is_some());
        assert_eq!(server(pid, &POSTGRES_NAMES, started_at), None);
        assert_eq!(server(pid, &[&name], started_at + Duration::from_secs(60)), None);
    }

    #[tokio::test]
    async fn a_file_has_no_server() {
        let database = Database::find(&plan(None)).await.unwrap();
        assert_eq!(database, Database::File);
        assert_eq!((database.processor_time(), database.note()), (None, None));
    }

    #[test]
    fn a_server_elsewhere_is_left_out_and_said_so() {
        assert_eq!(Database::Elsewhere.processor_time(), None);
        assert!(Database::Elsewhere.note().unwrap().contains("left out"));
    }

    #[tokio::test]
    async fn a_postgres_of_this_machine_is_found_with_the_processes_of_its_sessions() {
        let server = hapax_test_postgres::Server::shared().unwrap();
        let base = server.database().await.unwrap();
        let database = Database::find(&plan(Some(base.url()))).await.unwrap();
        assert!(
            matches!(&database, Database::Here(servers) if servers.len() == 1),
            "{database:?}"
        );
        let before = database.processor_time().unwrap();
        let client = base.client().await.unwrap();
        let work = "SELECT count(*) FROM generate_series(1, 1000000)";
        client.batch_execute(work).await.unwrap();
        assert!(database.processor_time().unwrap() > before);
    }

    #[tokio::test]
    async fn a_redis_of_this_machine_is_found() {
        let url = hapax_test_redis::Server::shared()
            .unwrap()
            .url_with_prefix(&fresh_prefix());
        let database = Database::find(&plan(Some(url))).await.unwrap();
        assert!(
            matches!(&database, Database::Here(servers) if servers.len() == 1),
            "{database:?}"
        );
        assert!(database.processor_time().is_some());
    }

    #[tokio::test]
    async fn every_master_of_a_cluster_is_found() {
        let url = Cluster::shared().unwrap().url_with(&fresh_prefix(), 8);
        let database = Database::find(&plan(Some(url))).await.unwrap();
        assert!(
            matches!(&database, Database::Here(servers) if servers.len() == 3),
            "{database:?}"
        );
    }
}
