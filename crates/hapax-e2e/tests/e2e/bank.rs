//! The bank: `balance + 1` for each event, which must not run twice. Replicas are killed and PostgreSQL crashes while
//! every event is delivered one to five times, and in the end the balance equals the number of events, to the cent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hapax_test_postgres::{Database, Server, Stop};
use tokio::sync::watch;
use tokio::task::JoinSet;

use hapax_testkit::{Connection, Delivery, Sender, Service, Setup, eventually, scaled, seed, within};

/// In `./test full`; `./test` runs a part of it.
const EVENTS_MAX: usize = 10_000;
const COPIES: std::ops::RangeInclusive<usize> = 1..=5;
const REPLICAS: usize = 3;
const CLIENTS: usize = 24;
/// How long a provider waits before it retries.
const SENDERS_PAUSE: Duration = Duration::from_millis(20);
const LIMIT: Duration = Duration::from_secs(240);

/// The faults during the run, evenly spread over all deliveries.
const TROUBLE: [Trouble; 9] = [
    Trouble::Kill(0),
    Trouble::Crash,
    Trouble::Kill(1),
    Trouble::Kill(2),
    Trouble::Crash,
    Trouble::Kill(0),
    Trouble::Kill(1),
    Trouble::Crash,
    Trouble::Kill(2),
];

#[derive(Clone, Copy)]
enum Trouble {
    /// SIGKILL for a replica.
    Kill(usize),
    /// PostgreSQL stops with `-m immediate` and recovers.
    Crash,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_balance_is_exactly_the_number_of_events_that_were_answered_2xx() {
    let mut random = fastrand::Rng::with_seed(seed());
    let server = Server::private(&[]).unwrap();
    let (store, bank) = (server.database().await.unwrap(), server.database().await.unwrap());
    open_account(&bank).await;
    let mut replicas = replicas(&store, &bank).await;
    let addresses: Vec<SocketAddr> = replicas.iter().map(Service::address).collect();

    let load = load(&mut random);
    let deliveries = load.len();
    let (counter, mut answered) = watch::channel(0_usize);
    let clients = send(load, &addresses, counter);
    for (number, trouble) in TROUBLE.iter().enumerate() {
        let moment = deliveries * (number + 1) / (TROUBLE.len() + 2);
        let enough = answered.wait_for(|count| *count >= moment);
        within("the load is answered", LIMIT, enough).await.unwrap();
        match trouble {
            Trouble::Kill(place) => {
                replicas[*place].kill().await;
                replicas[*place].start_again().await;
            }
            Trouble::Crash => {
                server.stop(Stop::Immediate).unwrap();
                server.start().unwrap();
            }
        }
    }
    // Every delivery is repeated until it is answered 2xx, as a provider would: all events were.
    within("every delivery is answered", LIMIT, clients.join_all()).await;
    assert_eq!(*answered.borrow(), deliveries);

    until_worked_off(&replicas[0]).await;
    let balance = number(&bank, "select balance from accounts").await;
    let dead = replicas[0].api("deliveries?status=dead").await;
    assert_eq!(balance, scaled(EVENTS_MAX) as i64, "dead: {dead}");
    assert_eq!(
        number(&bank, "select count(*) from hapax_inbox").await,
        scaled(EVENTS_MAX) as i64
    );
}

async fn open_account(bank: &Database) {
    let tables = "create table accounts (id text primary key, balance bigint not null);
                  insert into accounts values ('bank', 0)";
    bank.client().await.unwrap().batch_execute(tables).await.unwrap();
}

async fn number(bank: &Database, query: &str) -> i64 {
    let client = bank.client().await.unwrap();
    client.query_one(query, &[]).await.unwrap().get(0)
}

async fn replicas(store: &Database, bank: &Database) -> Vec<Service> {
    // No attempt limit may be within reach: every failure here is one that the test causes.
    let destination = format!(
        "[destinations.bank]\nkind = \"sql\"\nurl = \"{}\"\nmax_attempts = 100\nlease = \"4s\"\ntimeout = \"3s\"\n\
         backoff = {{ first = \"50ms\", cap = \"500ms\" }}\n\
         params = {{ account = \"body:/data/object/account\" }}\n\
         statements = [\"update accounts set balance = balance + 1 where id = :account\"]",
        bank.url()
    );
    let mut replicas: Vec<Service> = (0..REPLICAS)
        .map(|_| {
            Setup::new()
                .source("stripe", "stripe", "deliver_to = [\"bank\"]")
                .table(&destination)
                .database(&store.url())
                .spawn()
        })
        .collect();
    for replica in &mut replicas {
        replica.until_ready().await;
    }
    replicas
}

/// Every event one to five times, in any order.
fn load(random: &mut fastrand::Rng) -> Vec<Delivery> {
    let sender = Sender::of("stripe");
    let object = serde_json::json!({"account": "bank"});
    let mut load = Vec::new();
    for number in 0..scaled(EVENTS_MAX) {
        let delivery = sender.stripe_event(&format!("evt_{number}"), "plus.one", &object);
        load.extend(vec![delivery; random.usize(COPIES)]);
    }
    random.shuffle(&mut load);
    load
}

/// Sends everything, each delivery to a random replica, until one of them answers 2xx.
fn send(load: Vec<Delivery>, addresses: &[SocketAddr], answered: watch::Sender<usize>) -> JoinSet<()> {
    let shared = Arc::new((load, AtomicUsize::new(0), answered));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (shared, addresses) = (Arc::clone(&shared), addresses.to_vec());
        clients.spawn(async move {
            let (load, next, answered) = &*shared;
            let mut connections: Vec<Connection> = addresses.into_iter().map(Connection::to).collect();
            while let Some(delivery) = load.get(next.fetch_add(1, Ordering::Relaxed)) {
                while !try_anywhere(&mut connections, delivery).await {
                    tokio::time::sleep(SENDERS_PAUSE).await;
                }
                answered.send_modify(|count| *count += 1);
            }
        });
    }
    clients
}

async fn try_anywhere(connections: &mut [Connection], delivery: &Delivery) -> bool {
    let place = fastrand::usize(..connections.len());
    let answer = connections[place].try_deliver(delivery).await;
    answer.is_ok_and(|answer| answer.is_durable())
}

async fn until_worked_off(replica: &Service) {
    eventually("the backlog is worked off", LIMIT, async || {
        let stats = replica.api("stats").await;
        let destinations = stats["destinations"].as_array()?;
        let done = |destination: &serde_json::Value| destination["oldest_unfinished_at"].is_null();
        destinations.iter().all(done).then_some(())
    })
    .await;
}
