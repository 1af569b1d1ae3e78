//! The engine in one process on the simulated store: bugs that the search found, each as a test that failed first.

#![expect(clippy::unwrap_used, reason = "a bench that cannot be built fails its test")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hapax_core::store::AcceptRequest;
use hapax_core::{
    BodyHash, DeliveryState, ErrorClass, EventIds, Headers, Identity, Leased, NewDelivery, NewEvent,
    Store as _,
};
use hapax_engine::{AttemptResult, Engine, Parts, Reply, Silent, Transport};
use hapax_sim::clock::SkewedClock;
use hapax_sim::executor::{Executor, Process, ProcessRuntime, Stop};
use hapax_sim::history::History;
use hapax_sim::random::Dice;
use hapax_sim::store::{Link, Network, Vault};
use hapax_sim::world::Settings;
use parking_lot::Mutex;

const PROCESS: Process = Process(1);
const EVENTS: u64 = 8;
const STEPS_MAX: u64 = 1_000_000;
const SECOND: Duration = Duration::from_secs(1);

/// A destination that always answers the same.
struct Always(AttemptResult);

#[async_trait]
impl Transport for Always {
    async fn deliver(&self, _: &Leased) -> AttemptResult {
        self.0.clone()
    }
}

/// One process and the store, which holds events that are not yet leased.
struct Bench {
    executor: Executor,
    vault: Arc<Vault>,
    parts: Parts,
    settings: Settings,
}

impl Bench {
    fn new(seed: u64, skew_millis: i64, answer: AttemptResult) -> Self {
        let dice = Dice::new(seed);
        let executor = Executor::new(dice.split());
        let history = History::new(executor.clone());
        let clock = |skew| Arc::new(SkewedClock::new(executor.clone(), skew));
        let vault = Arc::new(Vault::new(executor.clone(), clock(0), history.clone(), None));
        let link = Link {
            process: PROCESS,
            executor: executor.clone(),
            network: Network::new(executor.clone(), history, dice.split(), 0),
            vault: Arc::clone(&vault),
        };
        let runtime = ProcessRuntime {
            executor: executor.clone(),
            process: PROCESS,
        };
        let parts = Parts {
            store: Arc::new(link),
            clock: clock(skew_millis),
            random: Arc::new(dice.split()),
            runtime: Arc::new(runtime),
            transport: Arc::new(Always(answer)),
            observer: Arc::new(Silent),
        };
        let settings = Settings::draw(&dice);
        Self {
            executor,
            vault,
            parts,
            settings,
        }
    }

    /// Runs the engine for a while, stops it, and returns what `look` sees then.
    fn run<T: Send + 'static>(self, duration: Duration, look: fn(Arc<Vault>) -> T) -> T {
        let seen = Arc::new(Mutex::new(None));
        let (result, executor) = (Arc::clone(&seen), self.executor.clone());
        let main = async move {
            let events = (0..EVENTS).map(|number| self.event(number)).collect();
            self.vault.model.accept(vec![AcceptRequest { events }]).await;
            let (routing, limits) = (self.settings.routing(), self.settings.limits.clone());
            let engine = Engine::start(self.parts, routing, limits).await.unwrap();
            self.executor.sleep(duration).await;
            engine.shutdown(5 * SECOND).await;
            *result.lock() = Some(look(self.vault));
        };
        assert_eq!(executor.run(main, STEPS_MAX), Stop::Done);
        executor.clear();
        seen.lock().take().unwrap()
    }

    fn event(&self, number: u64) -> NewEvent {
        let identity = Identity::new("shop", number.to_string());
        let (key, now) = (identity.key(), self.parts.clock.now());
        NewEvent {
            id: EventIds::default().next(now, key, &*self.parts.random),
            key,
            identity,
            source: "shop".into(),
            event_type: None,
            received_at: now,
            signed_at: None,
            secret_index: None,
            raw_hash: BodyHash::of(b"body"),
            content_hash: None,
            headers: Headers::default(),
            body: Bytes::from_static(b"body"),
            batch: None,
            ledger_until: now.plus(3_600 * SECOND),
            indexed: Vec::new(),
            deliveries: vec![NewDelivery::to("http")],
            claimed_body: None,
        }
    }
}

fn running(vault: &Vault) -> u64 {
    let counts = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(vault.model.counts())
        .unwrap();
    let running = counts
        .backlog
        .iter()
        .filter(|row| row.state == DeliveryState::Running);
    running.map(|row| row.count).sum()
}

#[test]
fn what_was_being_leased_when_a_shutdown_began_is_run_or_given_back() {
    for seed in 0..40 {
        let bench = Bench::new(seed, 0, AttemptResult::done(200));
        let after = Duration::from_millis(seed * 5);
        let left = bench.run(after, |vault| running(&vault));
        assert_eq!(left, 0, "seed {seed}, after {after:?}");
    }
}

#[test]
fn a_clock_that_is_ahead_of_the_stores_does_not_ask_for_work_all_the_time() {
    let mut later = AttemptResult::failed(ErrorClass::Status, "later");
    later.reply = Reply::Failed {
        class: ErrorClass::Status,
        message: "later".to_owned(),
        retry_after: Some(20 * SECOND),
    };
    let asked = |skew_millis| {
        let bench = Bench::new(1, skew_millis, later.clone());
        bench.run(10 * SECOND, |vault| vault.leases_asked())
    };
    let (right, ahead) = (asked(0), asked(60_000));
    assert!(
        right > 0 && ahead < right + 110,
        "{right} requests, {ahead} with a clock ahead"
    );
}
