//! The load client: N connections in a closed loop, each sending its next delivery once the last one is answered.
//!
//! It runs on one thread, in its own process. Each request costs one write, one read, one clock reading and two short
//! copies, because client and server share a machine and every cycle of the client is taken from the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use parking_lot::Mutex;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::answer::{Next, Outcome};
use super::connection::Connection;
use super::prepare::Prepared;
use super::report::{Report, Tally};

/// More connections than this reveal nothing more about one machine.
pub(crate) const CONNECTIONS_MAX: usize = 10_000;
/// How long after the end of a run an answer may still arrive.
const GRACE: Duration = Duration::from_secs(30);
/// After this many broken exchanges in one run, the measurement is aborted.
const BROKEN_MAX: u64 = 10_000;

pub struct Plan {
    pub address: SocketAddr,
    pub connections: usize,
    /// No request is sent after this time.
    pub time_limit: Duration,
    pub order: Order,
    /// Maximum requests per second, evenly spaced; `None` for as fast as they are answered.
    pub rate: Option<u32>,
}

/// What happens at the end of the prepared deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The run ends: each is sent once.
    Once,
    /// It starts over with the first, until the time is up.
    Repeat,
}

/// Runs the plan on the current thread's runtime.
pub async fn run(prepared: Prepared, plan: &Plan) -> anyhow::Result<Report> {
    let connections = plan.connections;
    anyhow::ensure!(
        (1..=CONNECTIONS_MAX).contains(&connections),
        "{connections} connections: between 1 and {CONNECTIONS_MAX} are possible"
    );
    let open = open_all(plan).await?;
    let shared = Arc::new(Shared {
        prepared,
        address: plan.address,
        order: plan.order,
        next: AtomicUsize::new(0),
        broken: AtomicU64::new(0),
        tally: Mutex::new(Tally::new()?),
        start: Barrier::new(connections),
        time_limit: plan.time_limit,
        rate: plan.rate,
    });
    let started_at_us = unix_micros();
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for connection in open {
        tasks.spawn(drive(connection, Arc::clone(&shared)));
    }
    let ended = tokio::time::timeout(plan.time_limit + GRACE, async {
        let mut last = started;
        while let Some(task) = tasks.join_next().await {
            last = last.max(task.context("a connection's task failed")?);
        }
        anyhow::Ok(last)
    });
    let last = ended
        .await
        .context("some responses never arrived: the server hangs")??;
    let tally = shared.tally.lock();
    Ok(tally.report(connections, last.duration_since(started), started_at_us))
}

struct Shared {
    prepared: Prepared,
    address: SocketAddr,
    order: Order,
    next: AtomicUsize,
    broken: AtomicU64,
    tally: Mutex<Tally>,
    start: Barrier,
    time_limit: Duration,
    rate: Option<u32>,
}

impl Shared {
    /// The next delivery to send, if there is one.
    fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        match self.order {
            Order::Once => (number < self.prepared.count()).then_some(number),
            Order::Repeat => Some(number % self.prepared.count()),
        }
    }

    fn tally(&self, count: impl FnOnce(&mut Tally)) {
        count(&mut self.tally.lock());
    }
}

async fn open_all(plan: &Plan) -> anyhow::Result<Vec<Connection>> {
    let mut open = Vec::with_capacity(plan.connections);
    for _ in 0..plan.connections {
        let connection = Connection::open(plan.address).await;
        open.push(connection.with_context(|| format!("cannot connect to {}", plan.address))?);
    }
    Ok(open)
}

/// The loop of one connection. Returns the time of its last answer.
async fn drive(mut connection: Connection, shared: Arc<Shared>) -> Instant {
    let mut request = shared.prepared.blank();
    shared.start.wait().await;
    let mut now = Instant::now();
    let started = now;
    let deadline = started + shared.time_limit;
    while now < deadline {
        let Some(number) = shared.take() else { break };
        shared.prepared.fill(number, &mut request);
        if let Some(rate) = shared.rate {
            tokio::time::sleep_until((started + Duration::from_secs(number as u64) / rate).into()).await;
            now = Instant::now();
        }
        let result = connection.exchange(&request).await;
        let sent = std::mem::replace(&mut now, Instant::now());
        let next = if let Ok(answer) = result {
            let outcome = Outcome::of(answer.status, connection.body(&answer));
            shared.tally(|tally| tally.answer(answer.status, outcome, now - sent));
            answer.next
        } else {
            shared.tally(Tally::broken);
            if shared.broken.fetch_add(1, Ordering::Relaxed) >= BROKEN_MAX {
                break;
            }
            Next::Close
        };
        if next == Next::Close {
            let Ok(again) = Connection::open(shared.address).await else {
                break;
            };
            connection = again;
        }
    }
    now
}

fn unix_micros() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use axum::extract::State;
    use axum::http::StatusCode;
    use axum::routing::post;

    use super::*;
    use crate::prepare::Recipe;

    #[derive(Default)]
    struct Server {
        requests: AtomicUsize,
        inside: AtomicUsize,
        inside_max: AtomicUsize,
    }

    /// Answers in turn: accepted, duplicate, 503, 500, 401.
    async fn handler(
        State(server): State<Arc<Server>>,
        _body: axum::body::Bytes,
    ) -> (StatusCode, &'static str) {
        let inside = server.inside.fetch_add(1, Ordering::SeqCst) + 1;
        server.inside_max.fetch_max(inside, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let number = server.requests.fetch_add(1, Ordering::SeqCst);
        server.inside.fetch_sub(1, Ordering::SeqCst);
        match number % 5 {
            0 => (StatusCode::OK, r#"{"status":"accepted"}"#),
            1 => (StatusCode::OK, r#"{"status":"duplicate"}"#),
            2 => (StatusCode::SERVICE_UNAVAILABLE, "{}"),
            3 => (StatusCode::INTERNAL_SERVER_ERROR, "{}"),
            _ => (StatusCode::UNAUTHORIZED, "{}"),
        }
    }

    async fn start() -> (SocketAddr, Arc<Server>) {
        let server = Arc::new(Server::default());
        let router = axum::Router::new()
            .route("/in/bench", post(handler))
            .with_state(Arc::clone(&server));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        (address, server)
    }

    fn prepared(address: SocketAddr, count: usize) -> Prepared {
        Prepared::new(&Recipe {
            address,
            path: "/in/bench",
            secret: "whsec_x",
            count,
            seed: 3,
            conflicting_ids: None,
        })
        .unwrap()
    }

    #[tokio::test]
    async fn counts_are_exact_and_every_answer_is_told_apart() {
        let (address, server) = start().await;
        let plan = Plan {
            address,
            connections: 4,
            time_limit: Duration::from_secs(60),
            order: Order::Once,
            rate: None,
        };
        let report = run(prepared(address, 100), &plan).await.unwrap();
        assert_eq!(server.requests.load(Ordering::SeqCst), 100);
        let counts = &report.counts;
        assert_eq!((counts.accepted, counts.duplicate, counts.refused), (20, 20, 20));
        assert_eq!((counts.unavailable, counts.failed, counts.broken), (20, 20, 0));
        assert_eq!(report.statuses.values().sum::<u64>(), 100);
    }

    #[tokio::test]
    async fn a_connection_has_one_request_under_way() {
        let (address, server) = start().await;
        let plan = Plan {
            address,
            connections: 3,
            time_limit: Duration::from_secs(60),
            order: Order::Once,
            rate: None,
        };
        run(prepared(address, 200), &plan).await.unwrap();
        assert!(server.inside_max.load(Ordering::SeqCst) <= 3);
    }

    #[tokio::test]
    async fn repeating_goes_on_until_the_time_is_over() {
        let (address, server) = start().await;
        let plan = Plan {
            address,
            connections: 2,
            time_limit: Duration::from_millis(200),
            order: Order::Repeat,
            rate: None,
        };
        let report = run(prepared(address, 1), &plan).await.unwrap();
        assert!(report.seconds >= 0.2);
        assert!(server.requests.load(Ordering::SeqCst) > 1);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_an_error() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let plan = Plan {
            address,
            connections: 1,
            time_limit: Duration::from_secs(1),
            order: Order::Once,
            rate: None,
        };
        let error = run(prepared(address, 1), &plan).await.unwrap_err();
        assert!(error.to_string().contains("cannot connect"), "{error}");
    }
}
