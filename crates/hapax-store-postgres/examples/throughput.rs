//! Measures the store on this machine: accepts, and leases with an empty and a long backlog.
//!
//! ```text
//! cargo run --release -p hapax-store-postgres --example throughput -- [backlog]
//! ```
//!
//! Runs on a private server that is removed afterwards.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "an example: it reports failures by panicking, and prints its figures"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hapax_core::store::{AcceptRequest, Candidates, LeaseOrder, Report};
use hapax_core::{
    AttemptOutcome, BodyHash, EventIds, Headers, Identity, NewDelivery, NewEvent, Owner, Store, SystemRandom,
    Timestamp,
};
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::Server;

const BATCH: usize = 256;
const IN_FLIGHT: usize = 4;
const LEASES: usize = 20_000;

#[tokio::main]
async fn main() {
    let backlog: usize = std::env::args()
        .nth(1)
        .map_or(1_000_000, |text| text.parse().unwrap());
    let server = Server::private(&[]).unwrap();
    let database = server.database().await.unwrap();
    let store = Arc::new(PostgresStore::open(Options::new(database.url())).await.unwrap());
    let maker = Arc::new(Maker::default());

    report("accept, new", LEASES, accept(&store, &maker, LEASES).await);
    report("lease and finish, short backlog", LEASES, work(&store).await);
    report("accept, backlog", backlog, accept(&store, &maker, backlog).await);
    report("lease and finish, long backlog", LEASES, work(&store).await);
    report(
        "accept, new, long backlog",
        LEASES,
        accept(&store, &maker, LEASES).await,
    );
    let start = Instant::now();
    let counts = store.counts().await.unwrap();
    println!("counts of {} events in {:?}", counts.events, start.elapsed());
}

fn report(what: &str, count: usize, took: Duration) {
    println!("{what}: {:.0} a second", count as f64 / took.as_secs_f64());
}

#[derive(Default)]
struct Maker {
    ids: EventIds,
    random: SystemRandom,
}

impl Maker {
    fn request(&self) -> AcceptRequest {
        let identity = Identity::new("shop", format!("evt_{:032x}", fastrand::u128(..)));
        let key = identity.key();
        let now = Timestamp::from_seconds(1_800_000_000);
        let body = Bytes::from(vec![b'x'; 1_024]);
        AcceptRequest {
            events: vec![NewEvent {
                id: self.ids.next(now, key, &self.random),
                identity,
                key,
                source: "shop".into(),
                event_type: Some("order.paid".to_owned()),
                received_at: now,
                signed_at: None,
                secret_index: None,
                raw_hash: BodyHash::of(&body),
                content_hash: None,
                headers: Headers::default(),
                body,
                batch: None,
                ledger_until: now.plus(Duration::from_secs(86_400)),
                indexed: Vec::new(),
                deliveries: vec![NewDelivery::to("billing")],
                claimed_body: None,
            }],
        }
    }
}

async fn accept(store: &Arc<PostgresStore>, maker: &Arc<Maker>, count: usize) -> Duration {
    let start = Instant::now();
    let tasks: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let (store, maker) = (Arc::clone(store), Arc::clone(maker));
            tokio::spawn(async move {
                for _ in 0..count / IN_FLIGHT / BATCH {
                    let batch = (0..BATCH).map(|_| maker.request()).collect();
                    for answer in store.accept(batch).await {
                        answer.unwrap();
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    start.elapsed()
}

async fn work(store: &Arc<PostgresStore>) -> Duration {
    let start = Instant::now();
    let tasks: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let mut left = LEASES / IN_FLIGHT;
                while left > 0 {
                    let order = LeaseOrder {
                        owner: Owner(1),
                        destination: "billing".into(),
                        limit: 64.min(left as u32),
                        lease_for: Duration::from_secs(60),
                        candidates: Candidates::Fresh,
                    };
                    let leased = store.lease(order).await.unwrap().leased;
                    if leased.is_empty() {
                        return;
                    }
                    left -= leased.len();
                    let reports = leased
                        .iter()
                        .map(|leased| Report {
                            hold: leased.hold(),
                            attempt: None,
                            outcome: AttemptOutcome::Completed,
                        })
                        .collect();
                    store.finish(reports).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    start.elapsed()
}
