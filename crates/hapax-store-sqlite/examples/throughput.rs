//! Measures accepted events per second: concurrent accepts of one event each, 1 KiB bodies, random ids, each answered
//! after its fsync. Then leases and finishes some of their deliveries.
//!
//! `cargo run --release -p hapax-store-sqlite --example throughput -- [SECONDS] [PRELOADED] [CACHE_MIB] [LOG_MIB]`

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hapax_core::store::{AcceptRequest, Candidates, Claim, LeaseOrder, Report};
use hapax_core::{
    AttemptOutcome, BodyHash, Clock, EventIds, Headers, Identity, NewDelivery, NewEvent, Owner, Random,
    Store, SystemClock, SystemRandom,
};
use hapax_store_sqlite::{Options, SqliteStore};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const BODY_BYTES: usize = 1_024;
const PRELOAD_BATCH: u64 = 512;

/// Whether each event creates a delivery.
#[derive(Clone, Copy)]
enum Work {
    None,
    OneDelivery,
}

struct Maker {
    clock: SystemClock,
    random: SystemRandom,
    ids: EventIds,
    body: Bytes,
    headers: Headers,
}

impl Maker {
    fn event(&self, work: Work) -> NewEvent {
        let number = self.random.next_u64();
        let identity = Identity::new("bench", format!("evt_{number:016x}"));
        let key = identity.key();
        let now = self.clock.now();
        NewEvent {
            id: self.ids.next(now, key, &self.random),
            identity,
            key,
            source: "bench".into(),
            event_type: Some("invoice.paid".to_owned()),
            received_at: now,
            signed_at: Some(now),
            secret_index: Some(0),
            raw_hash: BodyHash::from_bytes([number as u8; 32]),
            content_hash: None,
            headers: self.headers.clone(),
            body: self.body.clone(),
            batch: None,
            ledger_until: now.plus(Duration::from_secs(30 * 86_400)),
            indexed: Vec::new(),
            deliveries: match work {
                Work::None => Vec::new(),
                Work::OneDelivery => vec![NewDelivery::to("sink")],
            },
            claimed_body: None,
        }
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds: u64 = arguments.first().map_or(Ok(5), |text| text.parse())?;
    let preloaded: u64 = arguments.get(1).map_or(Ok(0), |text| text.parse())?;
    let mut options = Options::new(Arc::new(SystemClock::default()));
    if let Some(mebibytes) = arguments.get(2) {
        options.cache_bytes = mebibytes.parse::<usize>()? << 20;
    }
    if let Some(mebibytes) = arguments.get(3) {
        options.wal_bytes_max = mebibytes.parse::<u64>()? << 20;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let path = std::env::temp_dir().join(format!("hapax-throughput-{}.db", std::process::id()));
    let outcome = runtime.block_on(run(&path, options, Duration::from_secs(seconds), preloaded));
    for suffix in ["", "-wal", "-shm", ".lock"] {
        // A file that does not exist need not be removed.
        drop(std::fs::remove_file(format!("{}{suffix}", path.display())));
    }
    outcome
}

async fn run(path: &Path, options: Options, duration: Duration, preloaded: u64) -> Outcome<()> {
    let maker = Arc::new(Maker {
        clock: SystemClock::default(),
        random: SystemRandom::new(),
        ids: EventIds::default(),
        body: Bytes::from(vec![b'x'; BODY_BYTES]),
        headers: Headers::pack([
            ("content-type", &b"application/json"[..]),
            ("stripe-signature", &[b'a'; 90][..]),
            ("user-agent", b"Stripe/1.0 (+https://stripe.com/docs/webhooks)"),
        ]),
    });
    let store = Arc::new(SqliteStore::open(path, options)?);
    preload(&store, &maker, preloaded).await?;
    for work in [Work::None, Work::OneDelivery] {
        for connections in [64, 256] {
            measure(&store, &maker, connections, work, duration).await?;
        }
    }
    deliver(&store, duration).await?;
    let started = Instant::now();
    let counts = store.counts().await?;
    println!(
        "events {}, counted in {:?}, {} MiB on disk",
        counts.events,
        started.elapsed(),
        counts.store_bytes >> 20
    );
    store.close().await;
    let started = Instant::now();
    let again = SqliteStore::open(path, Options::new(Arc::new(SystemClock::default())))?;
    println!("opened again in {:?}", started.elapsed());
    again.close().await;
    Ok(())
}

async fn preload(store: &Arc<SqliteStore>, maker: &Maker, count: u64) -> Outcome<()> {
    let started = Instant::now();
    let mut loaded = 0;
    while loaded < count {
        let events = (0..PRELOAD_BATCH)
            .map(|_| NewEvent {
                body: Bytes::from_static(b"{}"),
                headers: Headers::default(),
                ..maker.event(Work::None)
            })
            .collect();
        for answer in store.accept(vec![AcceptRequest { events }]).await {
            answer?;
        }
        loaded += PRELOAD_BATCH;
    }
    if count > 0 {
        println!("preloaded {loaded} in {:?}", started.elapsed());
    }
    Ok(())
}

async fn measure(
    store: &Arc<SqliteStore>,
    maker: &Arc<Maker>,
    connections: usize,
    work: Work,
    duration: Duration,
) -> Outcome<()> {
    let stop = Arc::new(AtomicBool::new(false));
    let accepted = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let busy = [cpu_micros("sqlite-write"), cpu_micros("sqlite-check")];
    let written = written_bytes();
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let (store, maker) = (Arc::clone(store), Arc::clone(maker));
            let (stop, accepted) = (Arc::clone(&stop), Arc::clone(&accepted));
            tokio::spawn(async move {
                let mut latencies: Vec<u32> = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let event = maker.event(work);
                    let asked = Instant::now();
                    let answers = store.accept(vec![AcceptRequest { events: vec![event] }]).await;
                    for answer in answers {
                        if matches!(answer?.first(), Some(Claim::New { .. })) {
                            accepted.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    latencies.push(asked.elapsed().as_micros() as u32);
                }
                Ok::<_, hapax_core::store::Error>(latencies)
            })
        })
        .collect();
    let mut last = 0;
    let mut per_second = Vec::new();
    for _ in 0..duration.as_secs() {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let sum = accepted.load(Ordering::Relaxed);
        per_second.push((sum - last) / 100);
        last = sum;
    }
    stop.store(true, Ordering::Relaxed);
    let busy = [
        cpu_micros("sqlite-write") - busy[0],
        cpu_micros("sqlite-check") - busy[1],
    ];
    let written = written_bytes() - written;
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await??);
    }
    let rate = latencies.len() as f64 / started.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |share: f64| f64::from(latencies[((latencies.len() - 1) as f64 * share) as usize]) / 1_000.0;
    println!(
        "{} at {connections}: {rate:.0}/s, p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms, max {:.1} ms; CPU per event: writer {:.1} us, checkpointer {:.1} us; {:.1} KB written per event; hundreds each second {per_second:?}",
        match work {
            Work::None => "event only      ",
            Work::OneDelivery => "event and work  ",
        },
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        busy[0] as f64 / latencies.len() as f64,
        busy[1] as f64 / latencies.len() as f64,
        written as f64 / latencies.len() as f64 / 1_000.0,
    );
    Ok(())
}

/// Leases deliveries and completes them, some at a time.
async fn deliver(store: &SqliteStore, duration: Duration) -> Outcome<()> {
    let (started, busy) = (Instant::now(), cpu_micros("sqlite-write"));
    let mut delivered = 0;
    while started.elapsed() < duration {
        let order = LeaseOrder {
            owner: Owner(1),
            destination: "sink".into(),
            limit: 16,
            lease_for: Duration::from_secs(60),
            candidates: Candidates::Fresh,
        };
        let leased = store.lease(order).await?.leased;
        let reports: Vec<Report> = leased
            .iter()
            .map(|leased| Report {
                hold: leased.hold(),
                attempt: None,
                outcome: AttemptOutcome::Completed,
            })
            .collect();
        delivered += store.finish(reports).await?.len();
    }
    println!(
        "delivered {delivered}; CPU per delivery: writer {:.1} us",
        (cpu_micros("sqlite-write") - busy) as f64 / delivered.max(1) as f64
    );
    Ok(())
}

/// Bytes that this process has written, as Linux reports them; 0 on other systems.
fn written_bytes() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let written = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    written.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// CPU time of the thread whose name starts with `name`, as Linux reports it; 0 on other systems.
fn cpu_micros(name: &str) -> u64 {
    const TICK_MICROS: u64 = 10_000;
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return 0;
    };
    threads
        .flatten()
        .filter(|thread| {
            std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.starts_with(name))
        })
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok())
        .filter_map(|stat| {
            let (_, rest) = stat.rsplit_once(')')?;
            let fields: Vec<&str> = rest.split_whitespace().collect();
            let user: u64 = fields.get(11)?.parse().ok()?;
            let system: u64 = fields.get(12)?.parse().ok()?;
            Some((user + system) * TICK_MICROS)
        })
        .sum()
}
