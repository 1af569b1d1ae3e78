//! Clients: each takes the next event and delivers it one to five times, at once or one after the other, to any
//! replica, and repeats each delivery until it is answered 2xx.

mod tally;

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::TIMEOUT;
use hapax_testkit::{Connection, Delivery, Sender, within};

pub(super) use tally::Tally;

pub(super) const SOURCE: &str = "orders";
const SENDERS: usize = 96;
const COPIES_MAX: usize = 5;
/// The wait before a delivery is repeated.
const PAUSE: Duration = Duration::from_millis(50);
/// A crowd that is not done by then is stuck.
const LIMIT: Duration = Duration::from_secs(240);

/// The id of an event.
pub(super) fn name(number: usize) -> String {
    format!("torture-{number}")
}

/// An event as its provider signs it.
pub(super) fn delivery(sender: &Sender, number: usize) -> Delivery {
    let id = name(number);
    let body = format!("{{\"id\":\"{id}\"}}");
    sender.with_body(&id, body)
}

/// All clients.
pub(super) struct Crowd {
    /// The numbers of the events that no client has taken.
    left: Arc<Mutex<Range<usize>>>,
    tally: Arc<Tally>,
    tasks: JoinSet<()>,
}

impl Crowd {
    /// Sends this many events to these replicas.
    pub(super) fn start(events: usize, addresses: &[SocketAddr]) -> Self {
        let (tally, left) = (Arc::new(Tally::default()), Arc::new(Mutex::new(0..events)));
        let mut tasks = JoinSet::new();
        for _ in 0..SENDERS {
            let member = Member {
                tally: Arc::clone(&tally),
                left: Arc::clone(&left),
                lines: (0..COPIES_MAX).map(|_| Line::to(addresses)).collect(),
            };
            tasks.spawn(member.send());
        }
        Self { left, tally, tasks }
    }

    /// Sends until [`Crowd::stop`].
    pub(super) fn endless(addresses: &[SocketAddr]) -> Self {
        Self::start(usize::MAX, addresses)
    }

    /// No client takes another event; those that were taken are delivered.
    pub(super) fn stop(&self) {
        let mut left = self.left.lock();
        left.end = left.start;
    }

    /// Waits until all deliveries of this many events were answered 2xx.
    pub(super) async fn until_durable(&self, events: usize) {
        within("the crowd is answered", LIMIT, self.tally.until(events)).await;
    }

    /// Waits for this many more.
    pub(super) async fn until_more(&self, events: usize) {
        self.until_durable(self.tally.events() + events).await;
    }

    /// Waits until one more delivery was refused.
    pub(super) async fn until_refused(&self) {
        within("a sender is refused", LIMIT, self.tally.until_refused()).await;
    }

    /// Waits until every event was answered 2xx.
    pub(super) async fn end(self) -> Arc<Tally> {
        within("every delivery is answered 2xx", LIMIT, self.tasks.join_all()).await;
        self.tally
    }
}

struct Member {
    tally: Arc<Tally>,
    left: Arc<Mutex<Range<usize>>>,
    lines: Vec<Line>,
}

impl Member {
    async fn send(mut self) {
        let sender = Sender::to_source("github", SOURCE);
        while let Some(number) = self.take() {
            self.deliver(&delivery(&sender, number)).await;
            self.tally.event_is_durable();
        }
    }

    fn take(&self) -> Option<usize> {
        self.left.lock().next()
    }

    async fn deliver(&mut self, delivery: &Delivery) {
        let (tally, copies) = (&self.tally, fastrand::usize(1..=COPIES_MAX));
        let lines = self.lines.iter_mut().take(copies);
        if fastrand::bool() {
            join_all(lines.map(|line| line.until_durable(delivery, tally))).await;
        } else {
            for line in lines {
                line.until_durable(delivery, tally).await;
            }
        }
    }
}

/// A connection to each replica, for one delivery at a time.
struct Line(Vec<(SocketAddr, Connection)>);

impl Line {
    fn to(addresses: &[SocketAddr]) -> Self {
        let connections = addresses
            .iter()
            .map(|address| (*address, Connection::to(*address)));
        Self(connections.collect())
    }

    async fn until_durable(&mut self, delivery: &Delivery, tally: &Tally) {
        let begun = Instant::now();
        loop {
            let place = fastrand::usize(..self.0.len());
            let (address, connection) = &mut self.0[place];
            let asked = Instant::now();
            let answer = tokio::time::timeout(TIMEOUT, connection.try_deliver(delivery)).await;
            match &answer {
                Ok(Ok(answer)) => tally.answered(answer.status, asked.elapsed()),
                Ok(Err(_)) => tally.unanswered(),
                Err(_) => {
                    tally.timed_out();
                    // A late response on it would belong to this request.
                    *connection = Connection::to(*address);
                }
            }
            if matches!(answer, Ok(Ok(answer)) if answer.is_durable()) {
                return tally.waited(begun.elapsed());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
