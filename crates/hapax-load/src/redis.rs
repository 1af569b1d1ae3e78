//! The Redis under a store: how much memory it uses, how safely it writes, and how a benchmark removes its own keys.
//!
//! The store needs none of this, so it uses separate connections, one to each master.

mod information;
mod persistence;
mod redis_url;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hapax_core::Secret;
use redis::aio::MultiplexedConnection;

pub(crate) use persistence::Persistence;

use information::Information;
use redis_url::RedisUrl;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Long, because a server that is deleting a million keys answers late.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Keys to scan in one step.
const SCAN_COUNT: usize = 1_000;
/// A server frees memory in the background. It is done when nothing has changed for this long; the limit is how long to
/// wait for that.
const CALM_FOR: Duration = Duration::from_secs(3);
const CALM_LIMIT: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Fluctuations up to this size are ignored: a client's buffer, a line of a log.
const CALM_BYTES: u64 = 64 * 1024;

/// Every master of a Redis.
pub struct Redis {
    masters: Vec<MultiplexedConnection>,
    /// Matches every key of the store and no other key.
    pattern: String,
}

/// A server as a process of its machine, which may be another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerProcess {
    pub(crate) pid: u32,
    pub(crate) uptime: Duration,
}

impl Redis {
    /// Connects to the server that a store's URL names, or to every master of the cluster.
    pub async fn connect(url: &Secret) -> anyhow::Result<Self> {
        let place = RedisUrl::of(url.expose())?;
        let mut first = open(&place.seed()).await?;
        let masters = if place.is_cluster() {
            let nodes: String = redis::cmd("CLUSTER")
                .arg("NODES")
                .query_async(&mut first)
                .await
                .context("the server does not list the nodes of its cluster")?;
            let mut masters = Vec::new();
            for node in redis_url::masters(&nodes) {
                masters.push(open(&place.node(&node)).await?);
            }
            masters
        } else {
            vec![first]
        };
        anyhow::ensure!(!masters.is_empty(), "the cluster has no masters");
        Ok(Self {
            masters,
            pattern: place.pattern(),
        })
    }

    /// Whether there is any key of a store.
    pub async fn is_used(&mut self) -> anyhow::Result<bool> {
        for master in &mut self.masters {
            let mut cursor = 0;
            loop {
                let (next, keys) = scan(master, cursor, &self.pattern).await?;
                if !keys.is_empty() {
                    return Ok(true);
                }
                if next == 0 {
                    break;
                }
                cursor = next;
            }
        }
        Ok(false)
    }

    /// Removes every key of the store, and nothing else.
    pub async fn empty(&mut self) -> anyhow::Result<()> {
        for master in &mut self.masters {
            let mut cursor = 0;
            loop {
                let (next, keys) = scan(master, cursor, &self.pattern).await?;
                remove(master, keys).await?;
                if next == 0 {
                    break;
                }
                cursor = next;
            }
        }
        Ok(())
    }

    /// Returns once no master is freeing memory or writing in the background.
    pub async fn rest(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        while self.look_at_memory().await?.1 {
            anyhow::ensure!(
                started.elapsed() < CALM_LIMIT,
                "Redis had background work for {CALM_LIMIT:?}; is someone else using it?"
            );
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Memory in use on all masters, in bytes, once they have finished freeing.
    pub async fn used_memory(&mut self) -> anyhow::Result<u64> {
        let started = Instant::now();
        let mut since = Instant::now();
        let mut before = 0;
        loop {
            let (bytes, is_busy) = self.look_at_memory().await?;
            if is_busy || bytes.abs_diff(before) > CALM_BYTES {
                (before, since) = (bytes, Instant::now());
            }
            if since.elapsed() >= CALM_FOR {
                return Ok(bytes);
            }
            anyhow::ensure!(
                started.elapsed() < CALM_LIMIT,
                "the memory of Redis did not stop changing within {CALM_LIMIT:?}; is someone else using it?"
            );
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// How safely Redis writes: the setting of the least safe master.
    pub async fn persistence(&mut self) -> anyhow::Result<Persistence> {
        let masters = self.masters.len();
        let mut least = None;
        for master in &mut self.masters {
            let found = Persistence::of(master, masters).await?;
            if least
                .as_ref()
                .is_none_or(|least: &Persistence| found.flush < least.flush)
            {
                least = Some(found);
            }
        }
        least.context("there is no master")
    }

    /// The process of every master, as each reports it.
    pub(crate) async fn processes(&mut self) -> anyhow::Result<Vec<ServerProcess>> {
        let mut processes = Vec::new();
        for master in &mut self.masters {
            let information = Information::of(master).await?;
            processes.push(ServerProcess {
                pid: u32::try_from(information.number("process_id")?)?,
                uptime: Duration::from_secs(information.number("uptime_in_seconds")?),
            });
        }
        Ok(processes)
    }

    /// The folder that the first master writes to, if it may be read.
    pub(crate) async fn folder(&mut self) -> Option<PathBuf> {
        let master = self.masters.first_mut()?;
        let setting = redis::cmd("CONFIG")
            .arg("GET")
            .arg("dir")
            .query_async(master)
            .await;
        let setting: Option<(String, String)> = setting.ok();
        setting.map(|(_, folder)| PathBuf::from(folder))
    }

    async fn look_at_memory(&mut self) -> anyhow::Result<(u64, bool)> {
        let (mut bytes, mut is_busy) = (0, false);
        for master in &mut self.masters {
            let information = Information::of(master).await?;
            bytes += information.number("used_memory")?;
            is_busy |= information.is_busy();
        }
        Ok((bytes, is_busy))
    }
}

/// The error never contains the URL, which may contain a password.
async fn open(url: &Secret) -> anyhow::Result<MultiplexedConnection> {
    let client = redis::Client::open(url.expose()).context("the store's URL cannot be used")?;
    let config = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(ANSWER_TIMEOUT));
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
        .context("Redis cannot be reached")
}

async fn scan(
    master: &mut MultiplexedConnection,
    cursor: u64,
    pattern: &str,
) -> anyhow::Result<(u64, Vec<Vec<u8>>)> {
    redis::cmd("SCAN")
        .arg(cursor)
        .arg("MATCH")
        .arg(pattern)
        .arg("COUNT")
        .arg(SCAN_COUNT)
        .query_async(master)
        .await
        .context("the keys could not be listed")
}

/// One command for each key: a cluster refuses a command with keys of several slots.
async fn remove(master: &mut MultiplexedConnection, keys: Vec<Vec<u8>>) -> anyhow::Result<()> {
    let mut pipe = redis::pipe();
    for key in &keys {
        pipe.cmd("UNLINK").arg(key).ignore();
    }
    if keys.is_empty() {
        return Ok(());
    }
    pipe.query_async(master)
        .await
        .context("the keys could not be removed")
}

#[cfg(test)]
mod tests {
    use hapax_test_redis::{Cluster, Server, fresh_prefix};

    use super::*;

    const COUNT: usize = 2_500;

    #[tokio::test]
    async fn every_key_of_the_prefix_goes_and_no_other() {
        let (server, prefix) = (Server::shared().unwrap(), fresh_prefix());
        let foreign = format!("{{{prefix}er:0}}kept");
        server.call(&["SET", &foreign, "1"]).unwrap();
        let mut redis = Redis::connect(&Secret::new(server.url_with_prefix(&prefix)))
            .await
            .unwrap();
        assert!(!redis.is_used().await.unwrap());
        server
            .call(&["SET", &format!("{{{prefix}}}shards"), "1"])
            .unwrap();
        assert!(redis.is_used().await.unwrap());
        for number in 0..COUNT {
            server
                .call(&["SET", &format!("{{{prefix}:0}}{number}"), "1"])
                .unwrap();
        }
        redis.empty().await.unwrap();
        assert!(!redis.is_used().await.unwrap());
        assert_eq!(server.call(&["EXISTS", &foreign]).unwrap().number(), Some(1));
    }

    #[tokio::test]
    async fn a_cluster_is_emptied_on_every_master() {
        let (cluster, prefix) = (Cluster::shared().unwrap(), fresh_prefix());
        let mut redis = Redis::connect(&Secret::new(cluster.url_with(&prefix, 8)))
            .await
            .unwrap();
        let mut masters = std::collections::BTreeSet::new();
        for shard in 0..32 {
            let key = format!("{{{prefix}:{shard}}}key");
            let master = cluster.master_of_slot(cluster.slot_of(&key).unwrap()).unwrap();
            cluster.nodes()[master].call(&["SET", &key, "1"]).unwrap();
            masters.insert(master);
        }
        assert_eq!(masters.len(), 3);
        assert!(redis.is_used().await.unwrap());
        redis.empty().await.unwrap();
        assert!(!redis.is_used().await.unwrap());
        assert_eq!(redis.persistence().await.unwrap().masters, 3);
    }

    #[tokio::test]
    async fn memory_that_a_value_takes_is_seen_and_what_was_freed_is_not() {
        let server = Server::start(&["--appendonly", "yes", "--appendfsync", "everysec"]).unwrap();
        let mut redis = Redis::connect(&Secret::new(server.url())).await.unwrap();
        let empty = redis.used_memory().await.unwrap();
        let large = "x".repeat(4 << 20);
        server.call(&["SET", "{hapax:0}large", &large]).unwrap();
        let filled = redis.used_memory().await.unwrap();
        // The server rounds such a size up, by a quarter at most.
        let more = filled - empty;
        assert!((4 << 20..6 << 20).contains(&more), "{empty} and {filled}");
        redis.empty().await.unwrap();
        let freed = redis.used_memory().await.unwrap();
        assert!(freed.abs_diff(empty) < 1 << 20, "{empty} and {freed}");
        assert_eq!(redis.persistence().await.unwrap().problem(), None);
    }

    #[tokio::test]
    async fn a_server_without_an_append_only_file_is_warned_of() {
        let server = Server::start(&["--appendonly", "no"]).unwrap();
        let mut redis = Redis::connect(&Secret::new(server.url())).await.unwrap();
        let persistence = redis.persistence().await.unwrap();
        assert_eq!(
            persistence.to_string().split(", ").nth(1),
            Some("append-only file: none")
        );
        assert!(persistence.problem().is_some());
    }
}
