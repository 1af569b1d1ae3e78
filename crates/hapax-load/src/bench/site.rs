//! The service as the benchmark configures it: one source without a destination, and one that delivers to the sink.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use hapax_core::Secret;
use hapax_store_postgres::{Connected, Connector};

use crate::book::Book;
use crate::child::{self, Load};
use crate::client::Order;
use crate::connection::get;
use crate::prepare::DELIVERIES_MAX;
use crate::redis::{Persistence, Redis};
use crate::report::Report;
use crate::service::{Settings, Site, quoted};

use super::plan::{DUPLICATE_IDS, NEW_PER_SECOND_MAX, Plan, StoreKind};

/// Accepts and stores only.
pub(super) const STORED: &str = "bench";
/// Accepts, stores and delivers.
pub(super) const DELIVERED: &str = "delivered";
/// Accepts, stores and commits to a table.
pub(super) const COMMITTED: &str = "committed";

const PROBE_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Long enough that a run with a fixed number of events is never cut short.
const COUNT_SECONDS_MAX: u64 = 240;

/// Empties the store, so that each round begins like the first; a file is new each time. Only the benchmark's own data
/// is removed: it accepts only a database without Hapax tables, and a Redis without keys under its prefix.
pub(super) async fn empty(plan: &Plan) -> anyhow::Result<()> {
    let Some(url) = plan.store.as_ref().map(Secret::new) else {
        return Ok(());
    };
    match plan.kind() {
        StoreKind::Sqlite => Ok(()),
        StoreKind::Postgres => empty_postgres(&url).await,
        StoreKind::Redis => Redis::connect(&url).await?.empty().await,
    }
}

/// Lets the store finish its background work from the last measurement: a Redis that rewrites its file uses a core for
/// seconds, which would slow the ceiling, too.
pub(super) async fn rest(plan: &Plan) -> anyhow::Result<()> {
    match (plan.kind(), &plan.store) {
        (StoreKind::Redis, Some(url)) => Redis::connect(&Secret::new(url)).await?.rest().await,
        (StoreKind::Redis, None) | (StoreKind::Sqlite | StoreKind::Postgres, _) => Ok(()),
    }
}

/// Lets the store finish what filling it has left to do.
pub(super) async fn settle(plan: &Plan) -> anyhow::Result<()> {
    match (plan.kind(), &plan.store) {
        (StoreKind::Postgres, Some(url)) => flush_postgres(&connect(&Secret::new(url)).await?).await,
        (StoreKind::Postgres, None) | (StoreKind::Sqlite | StoreKind::Redis, _) => rest(plan).await,
    }
}

/// How safely a Redis writes; other stores flush before they answer.
pub(super) async fn persistence(plan: &Plan) -> anyhow::Result<Option<Persistence>> {
    match (plan.kind(), &plan.store) {
        (StoreKind::Redis, Some(url)) => {
            let mut redis = Redis::connect(&Secret::new(url)).await?;
            redis.persistence().await.map(Some)
        }
        (StoreKind::Redis, None) | (StoreKind::Sqlite | StoreKind::Postgres, _) => Ok(None),
    }
}

async fn empty_postgres(url: &Secret) -> anyhow::Result<()> {
    let connected = connect(url).await?;
    connected
        .client
        .batch_execute("DROP SCHEMA IF EXISTS hapax CASCADE; DROP TABLE IF EXISTS hapax_inbox")
        .await?;
    flush_postgres(&connected).await
}

/// Writes everything to the disk that was accepted so far, so that it does not count against the next measurement.
async fn flush_postgres(connected: &Connected) -> anyhow::Result<()> {
    let flushed = connected.client.batch_execute("CHECKPOINT").await;
    flushed.or_else(|error| match error.code() {
        // Not every user may do this; those writes are then measured, too.
        Some(_) => Ok(()),
        None => Err(error.into()),
    })
}

async fn connect(url: &Secret) -> anyhow::Result<Connected> {
    let connector = Connector::new(url, CONNECT_TIMEOUT, CONNECT_TIMEOUT)
        .map_err(|why| anyhow::anyhow!("the store's URL cannot be used: {why}"))?;
    Ok(connector.connect().await?)
}

#[derive(Clone, Copy)]
pub(super) struct Outlets<'a> {
    pub(super) sink: SocketAddr,
    /// The table of a `sql` destination.
    pub(super) book: &'a Book,
}

/// A site in `folder`, with its store there unless another is named.
pub(super) fn create(
    folder: &Path,
    store: Option<&str>,
    outlets: Option<Outlets<'_>>,
    secret: &str,
) -> anyhow::Result<Site> {
    let mut sources = vec![(STORED, vec![])];
    let mut destinations = String::new();
    if let Some(Outlets { sink, book }) = outlets {
        sources.push((DELIVERED, vec!["sink"]));
        sources.push((COMMITTED, vec!["book"]));
        let url = quoted(&format!("http://{sink}/"));
        destinations = format!("\n[destinations.sink]\nkind = \"http\"\nurl = {url}\n");
        destinations.push_str(&book.destination("book"));
    }
    let settings = Settings {
        sources,
        destinations,
        ..settings(folder, store, secret)
    };
    Site::create(folder, &settings)
}

/// One source without a destination, and a store in `folder` unless another is named.
pub(super) fn settings(folder: &Path, store: Option<&str>, secret: &str) -> Settings {
    let own = format!("sqlite:{}", folder.join("hapax.db").display());
    Settings {
        store_url: store.map_or(own, str::to_owned),
        encryption_key: None,
        sources: vec![(STORED, vec![])],
        secret: secret.to_owned(),
        destinations: String::new(),
    }
}

/// The text of `/metrics`.
pub(super) async fn metrics(site: &Site) -> anyhow::Result<String> {
    let (status, body) = get(site.admin(), "/metrics", site.token(), PROBE_LIMIT).await?;
    anyhow::ensure!(status == 200, "/metrics answered {status}");
    String::from_utf8(body).context("/metrics is not text")
}

/// The sum of the `/metrics` lines with this prefix.
pub(super) fn sum_of(metrics: &str, beginning: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(beginning));
    let values = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    values.sum()
}

/// The runs of the load client, which differ only in where they go and what they repeat.
pub(super) struct Loads<'a> {
    pub(super) secret: &'a str,
    /// Duration of a timed run.
    pub(super) seconds: u64,
}

impl Loads<'_> {
    /// Requests to the ceiling, which ignores their content.
    pub(super) async fn ceiling(&self, address: SocketAddr, connections: usize) -> anyhow::Result<Report> {
        let load = Load {
            order: Order::Repeat,
            distinct: DUPLICATE_IDS,
            ..self.load(address, STORED, connections)
        };
        child::load(&load).await
    }

    /// Events that were never sent before.
    pub(super) async fn new_events(&self, address: SocketAddr, connections: usize) -> anyhow::Result<Report> {
        child::load(&self.load(address, STORED, connections)).await
    }

    /// The first requests of the events that duplicates will repeat.
    pub(super) async fn first_deliveries(&self, address: SocketAddr, seed: u64) -> anyhow::Result<Report> {
        let load = Load {
            seconds: COUNT_SECONDS_MAX,
            distinct: DUPLICATE_IDS,
            seed,
            ..self.load(address, STORED, 256)
        };
        child::load(&load).await
    }

    /// The same events, repeatedly.
    pub(super) async fn duplicates(
        &self,
        address: SocketAddr,
        connections: usize,
        seed: u64,
    ) -> anyhow::Result<Report> {
        let load = self.load(address, STORED, connections);
        child::load(&Load {
            order: Order::Repeat,
            distinct: DUPLICATE_IDS,
            seed,
            ..load
        })
        .await
    }

    /// The same ids, repeatedly, each time with a body that was never sent before.
    pub(super) async fn conflicts(
        &self,
        address: SocketAddr,
        connections: usize,
        seed: u64,
    ) -> anyhow::Result<Report> {
        let load = self.load(address, STORED, connections);
        child::load(&Load {
            conflicting: Some(DUPLICATE_IDS),
            seed,
            ..load
        })
        .await
    }

    /// This many new events.
    pub(super) async fn stored(
        &self,
        address: SocketAddr,
        connections: usize,
        count: usize,
    ) -> anyhow::Result<Report> {
        self.counted(address, STORED, connections, count).await
    }

    /// This many new events, to be delivered.
    pub(super) async fn delivered(&self, address: SocketAddr, count: usize) -> anyhow::Result<Report> {
        self.counted(address, DELIVERED, 64, count).await
    }

    /// This many new events, to be committed.
    pub(super) async fn committed(&self, address: SocketAddr, count: usize) -> anyhow::Result<Report> {
        self.counted(address, COMMITTED, 64, count).await
    }

    /// Each event of a file of ids, once.
    pub(super) async fn known(
        &self,
        address: SocketAddr,
        connections: usize,
        ids: &Path,
    ) -> anyhow::Result<Report> {
        let load = self.load(address, STORED, connections);
        child::load(&Load {
            seconds: COUNT_SECONDS_MAX,
            distinct: DELIVERIES_MAX,
            ids: Some(ids),
            ..load
        })
        .await
    }

    /// New events over one connection, each long after the last was answered.
    pub(super) async fn lone(
        &self,
        address: SocketAddr,
        events: u32,
        per_second: u32,
    ) -> anyhow::Result<Report> {
        let load = self.load(address, STORED, 1);
        child::load(&Load {
            seconds: COUNT_SECONDS_MAX,
            distinct: events as usize,
            rate: Some(per_second),
            ..load
        })
        .await
    }

    async fn counted(
        &self,
        address: SocketAddr,
        source: &'static str,
        connections: usize,
        count: usize,
    ) -> anyhow::Result<Report> {
        let load = self.load(address, source, connections);
        child::load(&Load {
            seconds: COUNT_SECONDS_MAX,
            distinct: count,
            ..load
        })
        .await
    }

    fn load(&self, address: SocketAddr, source: &'static str, connections: usize) -> Load<'_> {
        let path = match source {
            STORED => "/in/bench",
            DELIVERED => "/in/delivered",
            _ => "/in/committed",
        };
        Load {
            address,
            path,
            secret: self.secret,
            connections,
            seconds: self.seconds,
            distinct: NEW_PER_SECOND_MAX * self.seconds as usize,
            conflicting: None,
            ids: None,
            seed: fastrand::u64(..),
            order: Order::Once,
            rate: None,
        }
    }
}
