//! Senders that deliver each event one to four times at once and repeat each delivery until it is answered 2xx, and an
//! application that writes rows to its outbox. Every answer is written down.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::books::Writer;
use super::history::{Place, Seen};
use super::world::LIMIT;
use crate::harness::{Connection, Delivery, Sender, within};

/// Senders of events that are answered when they are stored.
const SENDERS: usize = 4;
const COPIES: std::ops::RangeInclusive<usize> = 1..=4;
/// How long a sender waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long it waits before it delivers again, and before the next event.
const PAUSE: Duration = Duration::from_millis(10);

/// What is seen, as it is seen.
#[derive(Default)]
pub(super) struct Log {
    seen: Mutex<Vec<Seen>>,
    events: AtomicUsize,
    durable: watch::Sender<usize>,
    refused: watch::Sender<usize>,
}

impl Log {
    pub(super) fn add(&self, seen: Seen) {
        self.seen.lock().unwrap().push(seen);
    }

    pub(super) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    /// A new event to these places.
    fn event(&self, source: &str, to: &[Place]) -> String {
        let event = format!("{source}-{}", self.events.fetch_add(1, Ordering::Relaxed));
        self.add(Seen::Sent {
            event: event.clone(),
            to: to.to_vec(),
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

    /// Nothing came back.
    fn unanswered(&self) {
        self.refused.send_modify(|count| *count += 1);
    }
}

/// Everybody who sends.
pub(super) struct Load {
    log: Arc<Log>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Load {
    pub(super) fn start(log: Arc<Log>, addresses: Vec<SocketAddr>, writer: Writer) -> Self {
        let stop = watch::Sender::new(false);
        let addresses: Arc<[SocketAddr]> = addresses.into();
        let mut tasks = JoinSet::new();
        let client = |source, to| Client {
            log: Arc::clone(&log),
            addresses: Arc::clone(&addresses),
            stop: stop.subscribe(),
            source,
            to,
        };
        for _ in 0..SENDERS {
            tasks.spawn(client("orders", &[Place::App, Place::Books]).send());
        }
        tasks.spawn(client("prompt", &[Place::Books]).send());
        tasks.spawn(client("row", &[Place::App]).write(writer));
        Self { log, stop, tasks }
    }

    /// Waits for this many more answers that were 2xx.
    pub(super) async fn until_answered(&self, count: usize) {
        let mut durable = self.log.durable.subscribe();
        let wanted = *durable.borrow_and_update() + count;
        let enough = durable.wait_for(|durable| *durable >= wanted);
        within("the load is answered", LIMIT, enough).await.unwrap();
    }

    /// Waits for this many more answers that were none of these.
    pub(super) async fn until_refused(&self, count: usize) {
        let mut refused = self.log.refused.subscribe();
        let wanted = *refused.borrow_and_update() + count;
        let enough = refused.wait_for(|refused| *refused >= wanted);
        within("senders are refused", LIMIT, enough).await.unwrap();
    }

    /// No new events; waits until each that was begun is answered 2xx.
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
    to: &'static [Place],
}

impl Client {
    async fn send(self) {
        let sender = Sender::to_source("github", self.source);
        while !*self.stop.borrow() {
            let event = self.log.event(self.source, self.to);
            let delivery = sender.with_body(&event, format!("{{\"id\":\"{event}\"}}"));
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
            let row = self.log.event(self.source, self.to);
            while !writer.write(&row).await {
                tokio::time::sleep(PAUSE).await;
            }
            self.log.answered(&row, 200);
            tokio::time::sleep(PAUSE * 5).await;
        }
    }
}
