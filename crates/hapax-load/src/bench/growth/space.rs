//! Is there room for the store? A full disk in the middle of a run would waste an hour, and it could stop the database
//! for everyone else.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hapax_config::StoreUrl;
use hapax_core::Secret;
use hapax_store_postgres::Connector;

use crate::bench::database::Database;
use crate::bench::plan::{Plan, StoreKind};
use crate::redis::Redis;

use super::fill::PAYLOADS_MAX;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const GIGABYTE: u64 = 1_000_000_000;

/// What is missing, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    events: u64,
    resource: Resource,
    need: u64,
    free: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Resource {
    Disk(PathBuf),
    Memory,
}

/// Bytes that a store needs at its largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    disk: u64,
    memory: u64,
}

/// Whether the plan's store has room, as far as this machine can tell: a server elsewhere is not asked.
pub async fn shortage(plan: &Plan, events: u64) -> anyhow::Result<Option<Shortage>> {
    let need = Need::of(plan.kind(), events);
    let found = |resource, need, free: Option<u64>| {
        let free = free.filter(|free| *free < need)?;
        Some(Shortage {
            events,
            resource,
            need,
            free,
        })
    };
    let disk = match folder(plan).await? {
        Some(folder) => {
            let free = free_bytes(&folder);
            found(Resource::Disk(folder), need.disk, free)
        }
        None => None,
    };
    let is_in_memory = plan.kind() == StoreKind::Redis && Database::find(plan).await? != Database::Elsewhere;
    let memory = is_in_memory
        .then(|| found(Resource::Memory, need.memory, free_memory()))
        .flatten();
    Ok(disk.or(memory))
}

impl Need {
    /// Per event of 1 KiB with its share of deliveries and attempts, and per ledger entry without a payload; in
    /// reserve, what a store writes before it can reuse the space.
    const fn of(kind: StoreKind, events: u64) -> Self {
        let payloads = if events < PAYLOADS_MAX {
            events
        } else {
            PAYLOADS_MAX
        };
        let entries = events - payloads;
        match kind {
            StoreKind::Sqlite => Self {
                disk: payloads * 3_200 + entries * 400 + 2 * GIGABYTE,
                memory: 0,
            },
            // The write-ahead log of a server alone may take up to `max_wal_size`.
            StoreKind::Postgres => Self {
                disk: payloads * 3_500 + entries * 600 + 9 * GIGABYTE,
                memory: 0,
            },
            // The append-only file and the one that replaces it.
            StoreKind::Redis => Self {
                disk: (payloads * 3_000 + entries * 200) * 2,
                memory: payloads * 3_000 + entries * 200 + GIGABYTE,
            },
        }
    }
}

/// The folder that the store writes to, if it is on this machine.
async fn folder(plan: &Plan) -> anyhow::Result<Option<PathBuf>> {
    let Some(url) = &plan.store else {
        return Ok(Some(plan.folder.clone()));
    };
    if let StoreUrl::Sqlite(path) = url.parse()? {
        return Ok(path.parent().map(Path::to_owned));
    }
    if Database::find(plan).await? == Database::Elsewhere {
        return Ok(None);
    }
    let url = Secret::new(url);
    match plan.kind() {
        StoreKind::Redis => Ok(Redis::connect(&url).await?.folder().await),
        StoreKind::Postgres | StoreKind::Sqlite => data_directory(&url).await,
    }
}

async fn data_directory(url: &Secret) -> anyhow::Result<Option<PathBuf>> {
    let connector = Connector::new(url, CONNECT_TIMEOUT, CONNECT_TIMEOUT)
        .map_err(|why| anyhow::anyhow!("the store's URL cannot be used: {why}"))?;
    let client = connector.connect().await?.client;
    // Not every user may read this setting.
    let row = client
        .query_one("SELECT current_setting('data_directory')", &[])
        .await;
    let folder: Option<String> = row.ok().and_then(|row| row.try_get(0).ok());
    Ok(folder.map(PathBuf::from))
}

/// Free bytes on the disk of a folder, which may not exist yet.
fn free_bytes(folder: &Path) -> Option<u64> {
    let folder = std::path::absolute(folder).ok()?;
    let stat = folder
        .ancestors()
        .find_map(|folder| rustix::fs::statvfs(folder).ok())?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn free_memory() -> Option<u64> {
    available(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gigabytes = |bytes: u64| bytes as f64 / GIGABYTE as f64;
        let (events, need, free) = (self.events, gigabytes(self.need), gigabytes(self.free));
        match &self.resource {
            Resource::Disk(folder) => write!(
                formatter,
                "{events} events need about {need:.1} GB of disk, and {} has {free:.1} GB free; choose fewer with \
                 --events, or another folder with --dir",
                folder.display()
            ),
            Resource::Memory => write!(
                formatter,
                "{events} events need about {need:.1} GB of memory, and {free:.1} GB are free; choose fewer with --events"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_payloads_only_ledger_entries_need_room() {
        let disk = |events| Need::of(StoreKind::Sqlite, events).disk;
        assert_eq!(disk(PAYLOADS_MAX), 34 * GIGABYTE);
        assert_eq!(disk(PAYLOADS_MAX * 10) - disk(PAYLOADS_MAX), 36 * GIGABYTE);
        assert_eq!(Need::of(StoreKind::Redis, 1_000_000).memory, 4 * GIGABYTE);
    }

    #[test]
    fn a_refusal_says_how_much_is_needed_where_and_what_to_do() {
        let shortage = Shortage {
            events: 10_000_000,
            resource: Resource::Disk(PathBuf::from("/var/tmp")),
            need: 34 * GIGABYTE,
            free: 12_340_000_000,
        };
        assert_eq!(
            shortage.to_string(),
            "10000000 events need about 34.0 GB of disk, and /var/tmp has 12.3 GB free; choose fewer with --events, or \
             another folder with --dir"
        );
        let shortage = Shortage {
            resource: Resource::Memory,
            ..shortage
        };
        assert!(shortage.to_string().contains("34.0 GB of memory"), "{shortage}");
    }

    #[test]
    fn a_folder_that_does_not_exist_yet_has_the_room_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let free = free_bytes(folder.path()).unwrap();
        assert!(free > 0);
        assert!(free_bytes(&folder.path().join("a/b")).is_some());
    }

    #[test]
    fn free_memory_is_read_from_the_kernels_text() {
        let text = "MemTotal:  4096 kB\nMemFree:  10 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(available(text), Some(2 << 20));
        assert_eq!(available("MemFree: 10 kB\n"), None);
    }

    #[tokio::test]
    async fn a_store_that_fits_is_not_refused_and_one_that_fits_nowhere_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = Plan::quick(folder.path().to_owned());
        let refused = shortage(&plan, u64::MAX / 10_000).await.unwrap().unwrap();
        assert_eq!(refused.resource, Resource::Disk(folder.path().to_owned()));
        plan.store = Some(format!("sqlite:{}", folder.path().join("big.db").display()));
        assert!(shortage(&plan, u64::MAX / 10_000).await.unwrap().is_some());
    }
}
