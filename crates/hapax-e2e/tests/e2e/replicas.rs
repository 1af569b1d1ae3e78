//! Replicas: several processes on one Postgres share the deliveries, take over from each other, and fence a zombie.

mod draining;
mod rotation;
mod sessions;

use std::time::{Duration, Instant};

use hapax_test_postgres::{Database, Server};
use rustix::process::Signal;

use hapax_testkit::{Gate, Repeated, Reply, Sender, Service, Setup, Sink, deliver_all, eventually};

const LIMIT: Duration = Duration::from_secs(60);
/// Short leases, so that a takeover happens soon.
const SHORT: &str = "lease = \"2s\"\ntimeout = \"1900ms\"";

/// The default lease, and an attempt that may last nearly as long.
const MINUTE: &str = "lease = \"60s\"\ntimeout = \"50s\"";
/// A dead replica is noticed after 15 s, and not before the other has run for as long; the rest is for a slow machine.
const NOTICED_MAX: Duration = Duration::from_secs(25);

/// Processes on one database. The fields are dropped in this order: first the processes, then what they use.
struct Replicas {
    services: Vec<Service>,
    _database: Database,
    _server: Server,
}

impl Replicas {
    async fn start(count: usize, sink: &Sink, destination: &str) -> Self {
        Self::start_with(count, || Setup::stripe_to_with(sink, destination)).await
    }

    async fn start_with(count: usize, setup: impl Fn() -> Setup) -> Self {
        let server = Server::shared().unwrap();
        let database = server.database().await.unwrap();
        // All at once: they migrate the same empty database.
        let mut services: Vec<Service> = (0..count)
            .map(|_| setup().database(&database.url()).spawn())
            .collect();
        for service in &mut services {
            service.until_ready().await;
        }
        Self {
            services,
            _database: database,
            _server: server,
        }
    }
}

/// A sink that holds the first request at the gate and answers every other one.
async fn sink_behind(gate: &Gate) -> Sink {
    let gate = gate.clone();
    Sink::that(move |request| match request.nth {
        1 => Reply::Behind(gate.clone(), 200),
        _ => Reply::Status(200),
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_2001_deliveries_of_one_event_on_three_replicas_one_takes_effect() {
    let sink = Sink::start().await;
    let replicas = Replicas::start(3, &sink, "").await;
    let copies = || Repeated {
        deliveries: vec![Sender::of("stripe").event("evt_1")],
        each: 667,
        connections: 30,
    };
    let [first, second, third] = [0, 1, 2].map(|place| replicas.services[place].address());
    let answers = tokio::join!(
        deliver_all(first, copies()),
        deliver_all(second, copies()),
        deliver_all(third, copies())
    );
    let all: Vec<_> = [answers.0, answers.1, answers.2]
        .into_iter()
        .flat_map(|answers| answers.into_values().flatten())
        .collect();
    let accepted = all
        .iter()
        .filter(|answer| answer.field("status") == "accepted")
        .count();
    let duplicates = all
        .iter()
        .filter(|answer| answer.field("status") == "duplicate")
        .count();
    assert_eq!((accepted, duplicates), (1, 2_000));
    assert!(all.iter().all(|answer| answer.field("id") == all[0].field("id")));
    sink.until_effects(1, LIMIT).await;
    assert_eq!(sink.applications(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_replica_ran_is_taken_over_with_the_same_key() {
    let gate = Gate::closed();
    let sink = sink_behind(&gate).await;
    let mut replicas = Replicas::start(2, &sink, SHORT).await;
    let delivery = Sender::of("stripe").event("evt_1");
    let id = replicas.services[0].deliver_twice(&delivery).await;
    sink.until_received(1, LIMIT).await;
    replicas.services[0].kill().await;
    let event = replicas.services[1].until_event_is(&id, "completed", LIMIT).await;
    assert_eq!(event["deliveries"][0]["lost"], 1, "{event}");
    sink.assert_one_key_for_each_event();
    replicas.services[1]
        .deliver(&delivery)
        .await
        .assert_durable("duplicate");
    gate.open();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_replica_is_noticed_long_before_its_leases_end() {
    let gate = Gate::closed();
    let sink = sink_behind(&gate).await;
    let mut replicas = Replicas::start(2, &sink, MINUTE).await;
    let id = replicas.services[0]
        .deliver_twice(&Sender::of("stripe").event("evt_1"))
        .await;
    sink.until_received(1, LIMIT).await;
    replicas.services[0].kill().await;
    let killed = Instant::now();
    let event = replicas.services[1].until_event_is(&id, "completed", LIMIT).await;
    let took = killed.elapsed();
    assert!(took < NOTICED_MAX, "taken over after {took:?}");
    assert_eq!(event["deliveries"][0]["lost"], 1, "{event}");
    sink.assert_one_key_for_each_event();
    gate.open();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_stood_still_gives_back_what_it_ran_and_goes_on() {
    let gate = Gate::closed();
    let sink = sink_behind(&gate).await;
    let replicas = Replicas::start(2, &sink, MINUTE).await;
    let (still, other) = (&replicas.services[0], &replicas.services[1]);
    let id = still.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_received(1, LIMIT).await;
    still.signal(Signal::STOP);
    let stopped = Instant::now();
    let before = other.until_event_is(&id, "completed", LIMIT).await;
    let took = stopped.elapsed();
    assert!(took < NOTICED_MAX, "taken over after {took:?}");
    still.signal(Signal::CONT);
    eventually("it noticed that it was silent", LIMIT, async || {
        still
            .log()
            .contains("could not report to the store for ten seconds")
            .then_some(())
    })
    .await;
    gate.open();
    // Its new leases are its own, and the event it was running is as the other left it.
    let next = still.deliver_twice(&Sender::of("stripe").event("evt_2")).await;
    still.until_event_is(&next, "completed", LIMIT).await;
    let after = still.api(&format!("events/{id}")).await;
    assert_eq!(after["deliveries"], before["deliveries"]);
    sink.assert_one_key_for_each_event();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_zombie_that_wakes_past_its_lease_changes_nothing() {
    let gate = Gate::closed();
    let sink = sink_behind(&gate).await;
    let replicas = Replicas::start(2, &sink, SHORT).await;
    let (zombie, other) = (&replicas.services[0], &replicas.services[1]);
    let id = zombie.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_received(1, LIMIT).await;
    zombie.signal(Signal::STOP);
    let before = other.until_event_is(&id, "completed", LIMIT).await;
    zombie.signal(Signal::CONT);
    gate.open();
    eventually("the zombie noticed", LIMIT, async || {
        zombie.log().contains("lease lost").then_some(())
    })
    .await;
    assert_names_the_event(&zombie.log(), "lease lost", &id);
    eventually("the other told of the rescue", LIMIT, async || {
        other.log().contains("reclaimed").then_some(())
    })
    .await;
    assert_names_the_event(&other.log(), "reclaimed", &id);
    // It continues serving, and the event it was running is as the other left it.
    zombie.deliver_twice(&Sender::of("stripe").event("evt_2")).await;
    let after = zombie.api(&format!("events/{id}")).await;
    assert_eq!(
        (&after["deliveries"], &after["attempts"]),
        (&before["deliveries"], &before["attempts"])
    );
    sink.until_effects(2, LIMIT).await;
    sink.assert_one_key_for_each_event();
}

/// A log line like this must name its event, without a further search.
fn assert_names_the_event(log: &str, words: &str, id: &str) {
    let line = log.lines().find(|line| line.contains(words)).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let named = [
        "event.id",
        "event.sender_id",
        "source",
        "delivery",
        "attempt",
        "trace_id",
    ]
    .map(|name| line[name].to_string().trim_matches('"').to_owned());
    let trace = id.replace('-', "");
    assert_eq!(named, [id, "evt_1", "stripe", "app", "1", &trace], "{line}");
}
