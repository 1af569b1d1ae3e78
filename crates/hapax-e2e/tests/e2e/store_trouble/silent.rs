//! A store that does not respond: providers are answered before they time out, and events that it wrote are recognised
//! when they are delivered again.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hapax_test_postgres::Server;
use hapax_test_redis::Server as Redis;
use rusqlite::Connection;

use hapax_testkit::{Delivery, HttpResponse, Sender, Service, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(60);
/// The providers, and how soon each must be answered: Sentry waits one second, Mollie fifteen, for Stripe no limit is
/// known.
const SENDERS: [(&str, Duration); 3] = [
    ("sentry", Duration::from_millis(800)),
    ("stripe", LONGEST),
    ("mollie", LONGEST),
];
const LONGEST: Duration = Duration::from_secs(10);
/// For the round trip, on a busy machine.
const WAY: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_postgres_is_503_in_time_and_nothing_is_lost_or_doubled() {
    let server = Server::private(&[]).unwrap();
    let database = server.database().await.unwrap();
    let in_database = |setup: Setup| setup.database(&database.url());
    let freeze = |_: &Service| server.freeze().unwrap();
    silent(in_database, freeze, |()| server.thaw().unwrap()).await;
}

/// Nothing times out before the limit: the accept has its connection, and its statement would wait for a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_freezes_in_the_middle_of_an_accept_is_503_after_ten_seconds() {
    let server = Server::private(&[]).unwrap();
    let database = server.database().await.unwrap();
    let sink = Sink::start().await;
    let service = setup(&sink).database(&database.url()).start().await;
    service.deliver_twice(&event("mollie", "before")).await;
    let other = database.client().await.unwrap();
    let lock = "BEGIN; LOCK TABLE hapax.events IN EXCLUSIVE MODE";
    other.batch_execute(lock).await.unwrap();
    let freeze = async {
        let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)";
        eventually("the accept waits for the table", LIMIT, async || {
            let row = other.query_one(waits, &[]).await.unwrap();
            row.get::<_, bool>(0).then_some(())
        })
        .await;
        server.freeze().unwrap();
    };
    let refused = event("mollie", "meanwhile");
    let ((answer, took), ()) = tokio::join!(timed(&service, &refused), freeze);
    server.thaw().unwrap();
    other.batch_execute("ROLLBACK").await.unwrap();
    answer.assert_problem(503, "store_unavailable");
    assert!(
        (LONGEST..LONGEST + WAY).contains(&took),
        "answered after {took:?}"
    );
    found_again(&service, &sink, &[refused]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_redis_is_503_in_time_and_nothing_is_lost_or_doubled() {
    let server = Redis::start(&["--appendonly", "yes", "--appendfsync", "always"]).unwrap();
    let on_server = |setup: Setup| setup.database(&server.url());
    let freeze = |_: &Service| server.freeze().unwrap();
    silent(on_server, freeze, |()| server.thaw().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_program_locks_is_503_in_time_and_nothing_is_lost_or_doubled() {
    let lock = |service: &Service| {
        let intruder = Connection::open(service.setup.store_path()).unwrap();
        intruder.execute_batch("BEGIN IMMEDIATE").unwrap();
        intruder
    };
    let unlock = |intruder: Connection| intruder.execute_batch("ROLLBACK").unwrap();
    silent(|setup| setup, lock, unlock).await;
}

/// Providers that have been answered before send again while the store does not respond, and retry when it does.
async fn silent<T>(
    store: impl FnOnce(Setup) -> Setup,
    silence: impl FnOnce(&Service) -> T,
    speak: impl FnOnce(T),
) {
    let sink = Sink::start().await;
    let service = store(setup(&sink)).start().await;
    for (name, _) in SENDERS {
        service.deliver_twice(&event(name, "before")).await;
    }
    let deliveries = SENDERS.map(|(name, _)| event(name, "meanwhile"));
    let silenced = silence(&service);
    let refusals = join_all(deliveries.iter().map(|delivery| timed(&service, delivery))).await;
    speak(silenced);
    for ((answer, took), (name, limit)) in refusals.into_iter().zip(SENDERS) {
        answer.assert_problem(503, "store_unavailable");
        assert!(answer.header("retry-after").is_some());
        assert!(took < limit + WAY, "{name} was answered after {took:?}");
    }
    found_again(&service, &sink, &deliveries).await;
}

/// Leases are short: if the store wrote an event as leased to an accept that had timed out, it waits for that lease to
/// expire.
fn setup(sink: &Sink) -> Setup {
    let setup = Setup::new().http("app", &sink.url(), "lease = \"2s\"\ntimeout = \"1900ms\"");
    SENDERS.iter().fold(setup, |setup, (name, _)| {
        setup.source(name, name, "deliver_to = [\"app\"]")
    })
}

fn event(sender: &str, id: &str) -> Delivery {
    Sender::of(sender).event(&format!("{sender}_{id}"))
}

async fn timed(service: &Service, delivery: &Delivery) -> (HttpResponse, Duration) {
    let sent = Instant::now();
    (service.deliver(delivery).await, sent.elapsed())
}

/// The providers retry until they are answered; each event took effect once, and so did the one before it.
async fn found_again(service: &Service, sink: &Sink, refused: &[Delivery]) {
    for delivery in refused {
        eventually("the store answers again", LIMIT, async || {
            service.deliver(delivery).await.is_durable().then_some(())
        })
        .await;
        service.deliver(delivery).await.assert_durable("duplicate");
    }
    sink.until_effects(2 * refused.len(), LIMIT).await;
    sink.assert_one_key_for_each_event();
}
