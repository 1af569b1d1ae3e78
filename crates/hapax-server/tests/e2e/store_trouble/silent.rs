//! A store that says nothing: senders are answered while they still listen, and what it wrote is found when they come again.

use std::time::{Duration, Instant};

use hapax_test_postgres::Server;
use hapax_test_redis::Server as Redis;
use rusqlite::Connection;

use crate::harness::{Answer, Delivery, Sender, Service, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(60);
/// For the way there and back, on a machine that has other work.
const WAY: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_postgres_is_503_in_time_and_nothing_is_lost_or_doubled() {
    let server = Server::private(&[]).unwrap();
    let database = server.database().await.unwrap();
    let sink = Sink::start().await;
    let service = setup(&sink).database(&database.url()).start().await;
    let silence = Silence::before(&service).await;
    server.freeze().unwrap();
    let refused = silence.refused(&service).await;
    server.thaw().unwrap();
    found_again(&service, &sink, &refused).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_redis_is_503_in_time_and_nothing_is_lost_or_doubled() {
    let server = Redis::start(&["--appendonly", "yes", "--appendfsync", "always"]).unwrap();
    let sink = Sink::start().await;
    let service = setup(&sink).database(&server.url()).start().await;
    let silence = Silence::before(&service).await;
    server.freeze().unwrap();
    let refused = silence.refused(&service).await;
    server.thaw().unwrap();
    found_again(&service, &sink, &refused).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_program_locks_is_503_in_time_and_nothing_is_lost_or_doubled() {
    let sink = Sink::start().await;
    let service = setup(&sink).start().await;
    let silence = Silence::before(&service).await;
    let intruder = Connection::open(service.setup.store_path()).unwrap();
    intruder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = silence.refused(&service).await;
    intruder.execute_batch("ROLLBACK").unwrap();
    found_again(&service, &sink, &refused).await;
}

/// Sentry waits one second for an answer. Of Stripe nothing is known: ten seconds are soon enough. Leases are short, since
/// what a store wrote as leased to an accept that had given up waits for the end of its lease.
fn setup(sink: &Sink) -> Setup {
    Setup::stripe_to_with(sink, "lease = \"2s\"\ntimeout = \"1900ms\"").source(
        "sentry",
        "sentry",
        "deliver_to = [\"app\"]",
    )
}

/// Senders that have been answered before, and are about to send again.
struct Silence {
    sentry: Sender,
    stripe: Sender,
}

impl Silence {
    async fn before(service: &Service) -> Self {
        let [sentry, stripe] = ["sentry", "stripe"].map(Sender::of);
        service.deliver_twice(&sentry.event("before")).await;
        service.deliver_twice(&stripe.event("before")).await;
        Self { sentry, stripe }
    }

    /// What is sent while the store says nothing, and is refused in time.
    async fn refused(&self, service: &Service) -> [Delivery; 2] {
        let deliveries = [self.sentry.event("meanwhile"), self.stripe.event("meanwhile")];
        let [sentry, stripe] = &deliveries;
        let (sentry, stripe) = tokio::join!(timed(service, sentry), timed(service, stripe));
        let limits = [Duration::from_millis(800), Duration::from_secs(10)];
        for ((answer, took), limit) in [sentry, stripe].into_iter().zip(limits) {
            answer.assert_problem(503, "store_unavailable");
            assert!(answer.header("retry-after").is_some());
            assert!(
                took < limit + WAY,
                "answered after {took:?}, not within {limit:?}"
            );
        }
        deliveries
    }
}

async fn timed(service: &Service, delivery: &Delivery) -> (Answer, Duration) {
    let sent = Instant::now();
    (service.deliver(delivery).await, sent.elapsed())
}

/// The senders come again until they are answered; each event took effect once.
async fn found_again(service: &Service, sink: &Sink, refused: &[Delivery]) {
    for delivery in refused {
        eventually("the store answers again", LIMIT, async || {
            service.deliver(delivery).await.is_durable().then_some(())
        })
        .await;
        service.deliver(delivery).await.assert_durable("duplicate");
    }
    sink.until_effects(4, LIMIT).await;
    sink.assert_one_key_for_each_event();
}
