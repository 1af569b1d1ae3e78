//! An engine to test: a store, a scripted destination, and a clock that follows tokio's paused time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hapax_core::store::{EventQuery, EventRecord};
use hapax_core::{
    Backend, Backoff, Clock, EventId, EventStatus, Headers, IdempotencyKey, Leased, OnDead, SystemRandom,
    Timestamp,
};
use hapax_engine::{
    Accepted, AttemptResult, Destination, Engine, IncomingEvent, Limits, Observer, OnConflict, OrderBy,
    Parts, Refusal, Reply, Route, Routing, SameBody, Silent, TokioRuntime, Transport,
};
use hapax_store_laws::MemoryStore;
use parking_lot::Mutex;
use tokio::time::Instant;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
const START: Timestamp = Timestamp::from_seconds(1_767_225_600);

/// Wall and monotonic clocks follow tokio's; the wall clock can be stepped.
#[derive(Debug)]
pub(crate) struct TestClock {
    started: Instant,
    step_micros: AtomicI64,
}

impl TestClock {
    pub(crate) fn step(&self, seconds: i64) {
        self.step_micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let moved = START.plus(self.elapsed()).as_micros() + self.step_micros.load(Ordering::SeqCst);
        Timestamp::from_micros(moved)
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// One attempt, as the destination saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) event_id: String,
    pub(crate) key: IdempotencyKey,
    pub(crate) attempt: u32,
    pub(crate) at: Duration,
}

type Script = dyn Fn(&Leased, u32) -> (Duration, AttemptResult) + Send + Sync;

/// A destination that answers by a script (of the delivery and how often its event arrived) after a delay, and records
/// what it saw.
pub(crate) struct Sink {
    clock: Arc<TestClock>,
    script: Box<Script>,
    seen: Mutex<Vec<Seen>>,
    calls: Mutex<HashMap<String, u32>>,
    running: AtomicU32,
    pub(crate) running_max: AtomicU32,
    pub(crate) suspects_max: AtomicU32,
    suspects: AtomicU32,
    pub(crate) aborted: AtomicU32,
    pub(crate) holds: Mutex<Vec<hapax_core::Hold>>,
}

/// Counts an attempt that was dropped before its end.
struct Running<'a>(&'a Sink, bool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        if self.1 {
            self.0.aborted.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[async_trait]
impl Transport for Sink {
    async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        let event_id = delivery.event.identity.event_id.clone();
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.running_max.fetch_max(running, Ordering::SeqCst);
        if delivery.lost > 0 {
            let suspects = self.suspects.fetch_add(1, Ordering::SeqCst) + 1;
            self.suspects_max.fetch_max(suspects, Ordering::SeqCst);
        }
        let mut guard = Running(self, true);
        self.holds.lock().push(delivery.hold());
        let call = {
            let mut calls = self.calls.lock();
            let call = calls.entry(event_id.clone()).or_insert(0);
            *call += 1;
            *call
        };
        self.seen.lock().push(Seen {
            event_id,
            key: delivery.idempotency_key,
            attempt: delivery.attempt,
            at: self.clock.elapsed(),
        });
        let (wait, answer) = (self.script)(delivery, call);
        tokio::time::sleep(wait).await;
        guard.1 = false;
        if delivery.lost > 0 {
            self.suspects.fetch_sub(1, Ordering::SeqCst);
        }
        answer
    }
}

impl Sink {
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.event_id).collect()
    }
}

/// Reads the order key from a header.
#[derive(Debug)]
struct ByHeader;

impl OrderBy for ByHeader {
    fn key(&self, headers: &Headers, _: &[u8]) -> Option<String> {
        headers
            .get("lane")
            .map(|value| String::from_utf8_lossy(value).into_owned())
    }
}

/// Everything a test touches.
pub(crate) struct World {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) store: Arc<dyn Backend>,
    pub(crate) sink: Arc<Sink>,
    pub(crate) routing: Routing,
    pub(crate) limits: Limits,
    pub(crate) observer: Arc<dyn Observer>,
}

impl World {
    /// A source `shop` that delivers to `billing`, which answers by the script.
    pub(crate) fn new(
        script: impl Fn(&Leased, u32) -> (Duration, AttemptResult) + Send + Sync + 'static,
    ) -> Self {
        let clock = Arc::new(TestClock {
            started: Instant::now(),
            step_micros: AtomicI64::new(0),
        });
        let store: Arc<dyn Backend> = Arc::new(MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>));
        let sink = Arc::new(Sink {
            clock: Arc::clone(&clock),
            script: Box::new(script),
            seen: Mutex::default(),
            calls: Mutex::default(),
            running: AtomicU32::new(0),
            running_max: AtomicU32::new(0),
            suspects_max: AtomicU32::new(0),
            suspects: AtomicU32::new(0),
            aborted: AtomicU32::new(0),
            holds: Mutex::default(),
        });
        let mut routing = Routing::default();
        routing
            .destinations
            .insert("billing".into(), destination("billing"));
        routing.sources.insert("shop".into(), route("shop", &["billing"]));
        Self {
            clock,
            store,
            sink,
            routing,
            limits: Limits::default(),
            observer: Arc::new(Silent),
        }
    }

    /// A destination that always answers 200 at once.
    pub(crate) fn healthy() -> Self {
        Self::new(|_, _| (Duration::ZERO, AttemptResult::done(200)))
    }

    pub(crate) fn destination(&mut self, change: impl FnOnce(&mut Destination)) {
        change(self.routing.destinations.get_mut(&"billing".into()).unwrap());
    }

    pub(crate) fn ordered(&mut self, on_dead: OnDead) {
        self.destination(|billing| {
            billing.order_by = Some(Arc::new(ByHeader));
            billing.on_dead = on_dead;
        });
    }

    pub(crate) async fn start(&self) -> Engine {
        let parts = Parts {
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            random: Arc::new(SystemRandom::new()),
            runtime: Arc::new(TokioRuntime),
            transport: Arc::clone(&self.sink) as Arc<dyn Transport>,
            observer: Arc::clone(&self.observer),
        };
        Engine::start(parts, self.routing.clone(), self.limits.clone())
            .await
            .unwrap()
    }

    pub(crate) fn incoming(&self, event_id: &str, body: &str) -> IncomingEvent {
        IncomingEvent {
            source: "shop".into(),
            event_id: event_id.to_owned(),
            earlier_id: None,
            event_type: Some("order.paid".to_owned()),
            signed_at: None,
            secret_index: Some(0),
            received_at: self.clock.now(),
            headers: Headers::default(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            content_hash: None,
            batch: None,
        }
    }

    /// Sends an event. Returns the answer's status and the Hapax id.
    pub(crate) async fn send(&self, engine: &Engine, event_id: &str) -> (&'static str, EventId) {
        let accepted = engine
            .accept(vec![self.incoming(event_id, event_id)])
            .await
            .unwrap();
        (accepted[0].status(), accepted[0].id())
    }

    /// Sends an event twice, as every provider does some day.
    pub(crate) async fn send_twice(&self, engine: &Engine, event_id: &str) -> EventId {
        let (first, id) = self.send(engine, event_id).await;
        let (second, same) = self.send(engine, event_id).await;
        assert_eq!((first, second, id), ("accepted", "duplicate", same));
        id
    }

    pub(crate) async fn send_in_lane(&self, engine: &Engine, event_id: &str, lane: &str) -> EventId {
        let incoming = || IncomingEvent {
            headers: Headers::pack([("lane", lane.as_bytes())]),
            ..self.incoming(event_id, event_id)
        };
        let first = engine.accept(vec![incoming()]).await.unwrap()[0].id();
        assert_eq!(
            engine.accept(vec![incoming()]).await.unwrap()[0].status(),
            "duplicate"
        );
        first
    }

    pub(crate) fn clock_now(&self) -> Duration {
        self.clock.elapsed()
    }

    pub(crate) async fn record(&self, id: EventId) -> EventRecord {
        self.store.get(id).await.unwrap().unwrap()
    }

    /// Waits, in virtual time, until an event has this status.
    pub(crate) async fn until(&self, id: EventId, status: EventStatus) {
        let reached = async {
            while self.record(id).await.status != status {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let last = tokio::time::timeout(5_000 * SECOND, reached).await;
        assert!(
            last.is_ok(),
            "{id} is {}, not {status}",
            self.record(id).await.status
        );
    }

    pub(crate) async fn count(&self, status: EventStatus) -> usize {
        let query = EventQuery {
            status: Some(status),
            ..EventQuery::default()
        };
        self.store.list(&query, None, 1_000).await.unwrap().events.len()
    }

    pub(crate) async fn until_count(&self, status: EventStatus, wanted: usize) {
        let reached = async {
            while self.count(status).await != wanted {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let last = tokio::time::timeout(5_000 * SECOND, reached).await;
        assert!(
            last.is_ok(),
            "{} are {status}, not {wanted}",
            self.count(status).await
        );
    }
}

pub(crate) fn destination(id: &str) -> Destination {
    Destination {
        id: id.into(),
        events: Vec::new(),
        concurrency: 8,
        rate: None,
        attempts_max: 5,
        backoff: Backoff {
            first: SECOND,
            cap: 60 * SECOND,
        },
        lease: 60 * SECOND,
        deadline: 30 * SECOND,
        order_by: None,
        on_dead: OnDead::Hold,
        remembers: None,
    }
}

pub(crate) fn route(scope: &str, to: &[&str]) -> Route {
    let day = 24 * 3600 * SECOND;
    Route {
        scope: scope.into(),
        deliver_to: to.iter().map(|name| (*name).into()).collect(),
        ledger_window: 30 * day,
        payload_retention: 14 * day,
        dead_retention: 30 * day,
        rate: None,
        id_is_signed: true,
        same_body: SameBody::Flag,
        indexed: Vec::new(),
        on_conflict: OnConflict::Keep,
    }
}

pub(crate) fn failed() -> AttemptResult {
    let mut answer = AttemptResult::failed(hapax_core::ErrorClass::Status, "HTTP 500");
    answer.status = Some(500);
    answer
}

pub(crate) fn refused() -> AttemptResult {
    let reply = Reply::Refused {
        class: hapax_core::ErrorClass::Refused,
        message: "410 Gone".to_owned(),
    };
    AttemptResult {
        reply,
        status: Some(410),
        excerpt: String::new(),
    }
}

pub(crate) fn statuses(answers: Result<Vec<Accepted>, Refusal>) -> Vec<&'static str> {
    answers.unwrap().iter().map(Accepted::status).collect()
}
