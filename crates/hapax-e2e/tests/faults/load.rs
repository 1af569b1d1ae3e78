//! Clients that deliver each event one to four times at once and repeat each delivery until it is answered 2xx, and an
//! application that writes outbox rows. Every response is recorded.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::books::Writer;
use super::history::{DestinationKind, Seen};
use super::world::LIMIT;
use hapax_testkit::{Connection, Delivery, Sender, within};

/// Clients whose events are acknowledged when they are stored.
const SENDERS: usize = 4;
/// Clients whose events are ordered, each in its own lane.
const LANES: usize = 2;
const COPIES: std::ops::RangeInclusive<usize> = 1..=4;
/// How long a client waits for a response.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long it waits before a retry, and before the next event.
const PAUSE: Duration = Duration::from_millis(10);

/// Records observations as they are made.
#[derive(Default)]
pub(super) struct Log {
    seen: Mutex<Vec<Seen>>,
    events: AtomicUsize,
    durable: watch::Sender<usize>,
    refused: watch::Sender<usize>,
}

impl Log {
    pub(super) fn add(&self, seen: Seen) {
        self.seen.lock().push(seen);
    }

    pub(super) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock())
    }

    fn event(&self, client: &Client) -> String {
        let number = self.events.fetch_add(1, Ordering::Relaxed);
        let event = format!("{}-{number}", client.source);
        self.add(Seen::Sent {
            event: event.clone(),
            to: client.to.to_vec(),
            lane: client.lane,
        });
        event
    }

    fn answered(&self, event: &str, status: u16) -> bool {
        self.add(Seen::Answered {
            event: event.to_owned(),
            status,
        });
        let is_durable = (200..300).contains(&status);
        let counted = if is_durable { &self.durable } else { &self.refused };
        counted.send_modify(|count| *count += 1);
        is_durable
    }

    /// There was no response.
    fn unanswered(&self) {
        self.refused.send_modify(|count| *count += 1);
    }
}

/// All clients.
pub(super) struct Load {
    log: Arc<Log>,
    addresses: Arc<[SocketAddr]>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Load {
    pub(super) fn start(log: Arc<Log>, addresses: Vec<SocketAddr>, writer: Writer) -> Self {
        let mut load = Self {
            log,
            addresses: addresses.into(),
            stop: watch::Sender::new(false),
            tasks: JoinSet::new(),
        };
        for _ in 0..SENDERS {
            load.send("orders", &[DestinationKind::App, DestinationKind::Books], None);
        }
        for lane in 0..LANES {
            load.send("lanes", &[DestinationKind::Books], Some(lane));
        }
        load.send("prompt", &[DestinationKind::Books], None);
        let rows = load.client("row", &[DestinationKind::App], None);
        load.tasks.spawn(rows.write(writer));
        load
    }

    fn send(&mut self, source: &'static str, to: &'static [DestinationKind], lane: Option<usize>) {
        let client = self.client(source, to, lane);
        self.tasks.spawn(client.send());
    }

    fn client(&self, source: &'static str, to: &'static [DestinationKind], lane: Option<usize>) -> Client {
        Client {
            log: Arc::clone(&self.log),
            addresses: Arc::clone(&self.addresses),
            stop: self.stop.subscribe(),
            source,
            to,
            lane,
        }
    }

    /// Waits for this many more 2xx responses.
    pub(super) async fn until_answered(&self, count: usize) {
        let mut durable = self.log.durable.subscribe();
        let wanted = *durable.borrow_and_update() + count;
        let enough = durable.wait_for(|durable| *durable >= wanted);
        within("the load is answered", LIMIT, enough).await.unwrap();
    }

    /// Waits for this many more responses other than 2xx.
    pub(super) async fn until_refused(&self, count: usize) {
        let mut refused = self.log.refused.subscribe();
        let wanted = *refused.borrow_and_update() + count;
        let enough = refused.wait_for(|refused| *refused >= wanted);
        within("senders are refused", LIMIT, enough).await.unwrap();
    }

    /// Starts no new events; waits until each that was started is answered 2xx.
    pub(super) async fn stop(self) {
        self.stop.send_replace(true);
        within("every delivery is answered 2xx", LIMIT, self.tasks.join_all()).await;
    }
}

struct Client {
    log: Arc<Log>,
    addresses: Arc<[SocketAddr]>,
    stop: watch::Receiver<bool>,
    source: &'static str,
    to: &'static [DestinationKind],
    lane: Option<usize>,
}

impl Client {
    async fn send(self) {
        let sender = Sender::to_source("github", self.source);
        while !*self.stop.borrow() {
            let event = self.log.event(&self);
            let body = match self.lane {
                Some(lane) => format!(r#"{{"id":"{event}","lane":"{lane}"}}"#),
                None => format!(r#"{{"id":"{event}"}}"#),
            };
            let delivery = sender.with_body(&event, body);
            let copies = (0..fastrand::usize(COPIES)).map(|_| self.until_durable(&delivery));
            join_all(copies).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Delivers to any replica until one of them answers 2xx.
    async fn until_durable(&self, delivery: &Delivery) {
        loop {
            let place = fastrand::usize(..self.addresses.len());
            let mut connection = Connection::to(self.addresses[place]);
            let answer = tokio::time::timeout(PATIENCE, connection.try_deliver(delivery)).await;
            match answer {
                Ok(Ok(answer)) if self.log.answered(&delivery.event_id, answer.status) => return,
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => self.log.unanswered(),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn write(self, writer: Writer) {
        while !*self.stop.borrow() {
            let row = self.log.event(&self);
            while !writer.write(&row).await {
                tokio::time::sleep(PAUSE).await;
            }
            self.log.answered(&row, 200);
            tokio::time::sleep(PAUSE * 5).await;
        }
    }
}
