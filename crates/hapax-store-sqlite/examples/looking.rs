//! Measures read latency on a store with many events: pages by every filter, counts, groups and traffic.
//!
//! `cargo run --release -p hapax-store-sqlite --example looking -- [EVENTS] [DEAD] [WAITING]`

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hapax_core::store::{
    AcceptRequest, BodyTerm, Candidates, ConflictingBody, DuplicateCount, DuplicateNote, EventQuery, Has,
    IndexedValue, LeaseOrder, Report, Subject, TimeRange, Traffic, TrafficRow,
};
use hapax_core::{
    AttemptOutcome, BodyHash, Clock, ErrorClass, EventIds, EventStatus, Headers, Identity, NewDelivery,
    NewEvent, Operations, Owner, Store, SystemClock, SystemRandom,
};
use hapax_store_sqlite::{Options, SqliteStore};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const BATCH: u64 = 512;
const PAGE: u32 = 50;
/// Runs of each query; the slowest is reported.
const TURNS: usize = 5;
/// One in this many events is rare, has duplicates, or has a conflict.
const RARE: u64 = 50_000;

struct Maker {
    clock: SystemClock,
    random: SystemRandom,
    ids: EventIds,
}

impl Maker {
    fn event(&self, number: u64, to: Option<&str>) -> NewEvent {
        let is_rare = number.is_multiple_of(RARE);
        let identity = Identity::new("bench", format!("evt_{number}"));
        let key = identity.key();
        let now = self.clock.now();
        let body =
            format!("{{\"data\":{{\"object\":{{\"id\":\"ord_{number}\",\"note\":\"{number:0>160}\"}}}}}}");
        let body = Bytes::from(body);
        let pointer = "/data/object/id".to_owned();
        NewEvent {
            id: self.ids.next(now, key, &self.random),
            identity,
            key,
            source: if is_rare { "rare" } else { "common" }.into(),
            event_type: Some(if is_rare {
                "rare.type".to_owned()
            } else {
                format!("common.type_{}", number % 40)
            }),
            received_at: now,
            signed_at: Some(now),
            secret_index: Some(0),
            raw_hash: BodyHash::of(&body),
            content_hash: None,
            headers: Headers::pack([("content-type", &b"application/json"[..])]),
            indexed: if is_rare {
                IndexedValue::of_body(&body, [&pointer])
            } else {
                Vec::new()
            },
            body,
            batch: None,
            ledger_until: now.plus(Duration::from_secs(30 * 86_400)),
            deliveries: to.map(NewDelivery::to).into_iter().collect(),
            claimed_body: None,
        }
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| arguments.get(place).map_or(Ok(default), |text| text.parse());
    let (events, dead, waiting) = (number(0, 1_000_000)?, number(1, 100_000)?, number(2, 10_000)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let path = std::env::temp_dir().join(format!("hapax-looking-{}.db", std::process::id()));
    let outcome = runtime.block_on(run(&path, events, dead, waiting));
    for suffix in ["", "-wal", "-shm", ".lock"] {
        // A file that does not exist need not be removed.
        drop(std::fs::remove_file(format!("{}{suffix}", path.display())));
    }
    outcome
}

async fn run(path: &Path, events: u64, dead: u64, waiting: u64) -> Outcome<()> {
    let maker = Maker {
        clock: SystemClock::default(),
        random: SystemRandom::new(),
        ids: EventIds::default(),
    };
    let store = SqliteStore::open(path, Options::new(Arc::new(SystemClock::default())))?;
    let started = Instant::now();
    fill(&store, &maker, events, dead, waiting).await?;
    let filled = started.elapsed();
    println!("{events} events, {dead} dead letters, {waiting} waiting, stored in {filled:.1?}");
    for (name, query) in queries() {
        time_list(&store, name, &query).await?;
    }
    time_others(&store).await?;
    store.close().await;
    Ok(())
}

async fn fill(store: &SqliteStore, maker: &Maker, events: u64, dead: u64, waiting: u64) -> Outcome<()> {
    let mut number = 0;
    while number < events {
        let batch: Vec<NewEvent> = (number..events.min(number + BATCH))
            .map(|number| {
                let to = if number < dead {
                    Some("dead")
                } else {
                    (number >= events - waiting).then_some("waiting")
                };
                maker.event(number, to)
            })
            .collect();
        number += batch.len() as u64;
        let odd = batch
            .iter()
            .find(|event| event.source.as_str() == "rare")
            .cloned();
        let has_dead = batch.iter().any(|event| {
            event
                .deliveries
                .first()
                .is_some_and(|to| to.destination.as_str() == "dead")
        });
        let requests = batch
            .into_iter()
            .map(|event| AcceptRequest { events: vec![event] });
        for answer in store.accept(requests.collect()).await {
            answer?;
        }
        if has_dead {
            give_up(store).await?;
        }
        if let Some(event) = odd {
            note(store, event).await?;
        }
    }
    let now = maker.clock.now();
    let rows = (0..168).map(|back| TrafficRow {
        range: TimeRange::Week,
        slot: TimeRange::Week.slot_of(now).minus(TimeRange::Week.step() * back),
        subject: Subject::Source("common".into()),
        owner: Owner(1),
        traffic: Traffic {
            accepted: 7,
            ..Traffic::default()
        },
    });
    Ok(store.put_traffic(rows.collect()).await?)
}

async fn give_up(store: &SqliteStore) -> Outcome<()> {
    let order = LeaseOrder {
        owner: Owner(1),
        destination: "dead".into(),
        limit: BATCH as u32,
        lease_for: Duration::from_secs(60),
        candidates: Candidates::Fresh,
    };
    let leased = store.lease(order).await?.leased;
    let reports = leased.iter().zip(0..).map(|(leased, number)| Report {
        hold: leased.hold(),
        attempt: None,
        outcome: AttemptOutcome::Dead {
            reason: if number == 0 {
                ErrorClass::Timeout
            } else {
                ErrorClass::Refused
            },
        },
    });
    store.finish(reports.collect()).await?;
    Ok(())
}

async fn note(store: &SqliteStore, event: NewEvent) -> Outcome<()> {
    let note = DuplicateNote {
        key: event.key,
        count: 2,
        last_at: event.received_at,
        gaps_ms: vec![1, 2],
    };
    store.note_duplicates(vec![note]).await?;
    let other_body = ConflictingBody {
        key: event.key,
        first: event.id,
        source: event.source,
        raw_hash: BodyHash::of(b"other"),
        received_at: event.received_at,
        headers: event.headers,
        body: Bytes::from_static(b"other"),
    };
    store.record_conflicts(vec![other_body]).await.remove(0)?;
    Ok(())
}

fn queries() -> Vec<(&'static str, EventQuery)> {
    let all = EventQuery::default;
    let body = |value: &str| {
        vec![BodyTerm {
            pointer: "/data/object/id".to_owned(),
            value: value.to_owned(),
        }]
    };
    vec![
        ("everything", all()),
        (
            "source:common",
            EventQuery {
                source: Some("common".into()),
                ..all()
            },
        ),
        (
            "source:rare",
            EventQuery {
                source: Some("rare".into()),
                ..all()
            },
        ),
        (
            "type:common.type_7",
            EventQuery {
                event_type: Some("common.type_7".to_owned()),
                ..all()
            },
        ),
        (
            "type:common.*",
            EventQuery {
                event_type: Some("common.*".to_owned()),
                ..all()
            },
        ),
        (
            "type:rare.type",
            EventQuery {
                event_type: Some("rare.type".to_owned()),
                ..all()
            },
        ),
        (
            "status:dead",
            EventQuery {
                status: Some(EventStatus::Dead),
                ..all()
            },
        ),
        (
            "status:pending",
            EventQuery {
                status: Some(EventStatus::Pending),
                ..all()
            },
        ),
        (
            "status:completed",
            EventQuery {
                status: Some(EventStatus::Completed),
                ..all()
            },
        ),
        (
            "to:waiting",
            EventQuery {
                to: Some("waiting".into()),
                ..all()
            },
        ),
        (
            "to:dead status:dead",
            EventQuery {
                to: Some("dead".into()),
                status: Some(EventStatus::Dead),
                ..all()
            },
        ),
        (
            "to:dead error:timeout",
            EventQuery {
                to: Some("dead".into()),
                error: Some(ErrorClass::Timeout),
                ..all()
            },
        ),
        (
            "error:timeout",
            EventQuery {
                error: Some(ErrorClass::Timeout),
                ..all()
            },
        ),
        (
            "duplicates:>0",
            EventQuery {
                duplicates: Some(DuplicateCount { min: 1, max: None }),
                ..all()
            },
        ),
        (
            "has:conflict",
            EventQuery {
                has: Some(Has::Conflict),
                ..all()
            },
        ),
        (
            "id:evt_5",
            EventQuery {
                event_id: Some("evt_5".to_owned()),
                ..all()
            },
        ),
        (
            "body, read",
            EventQuery {
                body: body("ord_5"),
                ..all()
            },
        ),
        (
            "body, indexed",
            EventQuery {
                body: body("ord_0"),
                by_index: Some(0),
                ..all()
            },
        ),
    ]
}

/// The first page: its worst latency, its contents, and whether the search continues on another page.
async fn time_list(store: &SqliteStore, name: &str, query: &EventQuery) -> Outcome<()> {
    let mut slowest = Duration::ZERO;
    let mut page = store.list(query, None, PAGE).await?;
    for _ in 0..TURNS {
        let started = Instant::now();
        page = store.list(query, None, PAGE).await?;
        slowest = slowest.max(started.elapsed());
    }
    let goes_on = if page.next.is_some() { "goes on" } else { "all" };
    println!(
        "{name:24} {slowest:>10.2?}  {} events, {goes_on}",
        page.events.len()
    );
    Ok(())
}

async fn time_others(store: &SqliteStore) -> Outcome<()> {
    let started = Instant::now();
    let counts = store.counts().await?;
    println!(
        "counts                   {:>10.2?}  {} MiB",
        started.elapsed(),
        counts.store_bytes >> 20
    );
    let started = Instant::now();
    let groups = store.dead_groups(20).await?;
    println!(
        "dead groups              {:>10.2?}  {} groups",
        started.elapsed(),
        groups.len()
    );
    let started = Instant::now();
    let rows = store.traffic(TimeRange::Week).await?;
    println!(
        "traffic of a week        {:>10.2?}  {} rows",
        started.elapsed(),
        rows.len()
    );
    Ok(())
}
