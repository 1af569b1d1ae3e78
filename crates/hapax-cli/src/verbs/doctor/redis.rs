//! A store on Redis: what a crash or a failover would lose, whether it has enough memory, and how fast it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hapax_core::store::Operations as _;
use hapax_core::{Clock, SystemClock};
use hapax_store_redis::{Condition, Flushed, RedisStore};

use super::check::Check;
use hapax_api::readable;
use hapax_config::{Config, StoreUrl};
use hapax_server::{Kind, OpenStore};

/// Number of writes to measure.
const WRITES: usize = 21;
/// A slower write limits how many events per second can be acknowledged.
const WRITE_WARN: Duration = Duration::from_millis(20);
/// Above this share of the memory, an operator should act.
const USED_WARN_PERCENT: u64 = 75;
/// Above this share of the memory, the next burst may be refused.
const USED_FAIL_PERCENT: u64 = 95;

/// Empty if the store is not on Redis or cannot be opened; another check reports that.
pub(super) async fn check(config: &Config) -> Vec<Check> {
    let StoreUrl::Redis(_) = &config.store.url else {
        return Vec::new();
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let encryption = config.store.encryption.as_ref();
    let Ok(opened) = OpenStore::open(&config.store.url, encryption, &clock).await else {
        return Vec::new();
    };
    let Kind::Redis(store) = opened.kind() else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    match store.condition().await {
        Ok(servers) => {
            let wait = config.sources.values().map(|source| source.redis_wait).max();
            for server in &servers {
                checks.extend(of_server(server, u64::from(wait.unwrap_or(0))));
            }
        }
        Err(error) => checks.push(Check::fail("redis server", error.to_string(), "start it again")),
    }
    checks.push(shards(store));
    checks.push(write(store).await);
    checks.push(failover(config));
    checks
}

fn of_server(server: &Condition, wait: u64) -> [Check; 4] {
    let version = format!(
        "{} is Redis {} and never evicts keys",
        server.node, server.version
    );
    [
        Check::ok("redis server", version),
        persistence(server),
        replicas(server, wait),
        memory(server),
    ]
}

fn persistence(server: &Condition) -> Check {
    let name = "redis persistence";
    let node = &server.node;
    let fix = "`appendonly yes` and `appendfsync everysec` (or `always`) in redis.conf, or with `redis-cli CONFIG SET`";
    match server.flushed {
        Flushed::Always => Check::ok(
            name,
            format!("{node}: `appendfsync always`; a crash loses no acknowledged event"),
        ),
        Flushed::EverySecond => Check::ok(
            name,
            format!(
                "{node}: `appendfsync everysec`; a crash of its machine loses about a second, and a crash of Redis alone \
                 nothing; while the disk is slow, either loses up to two seconds"
            ),
        ),
        Flushed::BySystem => Check::warn(
            name,
            format!(
                "{node}: `appendfsync no`; a crash of its machine loses the data that the system had not written yet, \
                 often 30 s"
            ),
            fix,
        ),
        Flushed::Never => Check::warn(
            name,
            format!(
                "{node}: no append-only file; a crash loses everything since the last snapshot, or everything"
            ),
            fix,
        ),
        Flushed::Unsaid => Check::warn(
            name,
            format!("{node} does not report when it flushes its append-only file"),
            "ask its operator; with `appendfsync everysec`, a crash of its machine loses about a second",
        ),
    }
}

fn replicas(server: &Condition, wait: u64) -> Check {
    let name = "redis replicas";
    let Condition {
        node,
        replicas,
        replicas_required,
        ..
    } = server;
    let required = replicas_required.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    let detail = format!("{node} has {replicas}; `min-replicas-to-write` is {required}");
    if *replicas < wait {
        let detail = format!("{detail}; a source waits for {wait}, so its events are answered 503");
        return Check::fail(
            name,
            detail,
            "start replicas, or lower `redis.wait` of the source",
        );
    }
    if *replicas == 0 {
        return Check::ok(name, format!("{detail}: if its disk is lost, all data is lost"));
    }
    if *replicas_required == Some(0) {
        let fix = "`min-replicas-to-write 1`: then an isolated master accepts no writes that would be lost";
        return Check::warn(name, detail, fix);
    }
    Check::ok(name, detail)
}

fn memory(server: &Condition) -> Check {
    let name = "redis memory";
    let (node, used) = (&server.node, readable::size(server.memory_used));
    let Some(limit) = server.memory_max else {
        return Check::warn(
            name,
            format!("{node} uses {used} and has no memory limit: the system may kill it"),
            "set `maxmemory` to about two thirds of its machine's memory",
        );
    };
    let detail = format!("{node} uses {used} of {}", readable::size(limit));
    let fix = "raise `maxmemory`, or shorten payload_retention; while it is full, webhooks are answered 503";
    match server.memory_used.saturating_mul(100) / limit {
        0..USED_WARN_PERCENT => Check::ok(name, detail),
        USED_WARN_PERCENT..USED_FAIL_PERCENT => Check::warn(name, detail, fix),
        USED_FAIL_PERCENT.. => Check::fail(name, detail, fix),
    }
}

fn shards(store: &RedisStore) -> Check {
    let place = if store.is_cluster() {
        "a cluster"
    } else {
        "one server"
    };
    let detail = format!("{} on {place}; the number is fixed", store.shards());
    Check::ok("redis shards", detail)
}

async fn write(store: &RedisStore) -> Check {
    let name = "redis write";
    let mut took = Vec::with_capacity(WRITES);
    for _ in 0..WRITES {
        let begun = Instant::now();
        if let Err(error) = store.probe().await {
            return Check::fail(name, error.to_string(), "the message names the problem");
        }
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    let median = took[WRITES / 2];
    let detail = format!("{:.1} ms (median of {WRITES})", median.as_secs_f64() * 1e3);
    if median <= WRITE_WARN {
        return Check::ok(name, detail);
    }
    let fix = "move Redis closer, or use a faster disk: every acknowledgement waits for a write";
    Check::warn(name, detail, fix)
}

/// This is true of every Redis setup, so it is not a warning.
fn failover(config: &Config) -> Check {
    let waits = config.sources.values().any(|source| source.redis_wait > 0);
    let detail = if waits {
        "a promoted replica may lack the last acknowledged writes of its master; `wait` makes that unlikely, but not \
         impossible, for the sources that set it"
    } else {
        "a promoted replica may lack the last acknowledged writes of its master, which are then lost; `redis = { wait \
         = 1 }` in a source makes that unlikely"
    };
    Check::ok("redis failover", detail)
}
