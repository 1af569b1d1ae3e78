//! How much a destination gets at once: concurrency, rate, and a breaker when it keeps failing.

use std::time::{Duration, Instant};

use hapax_testkit::{Gate, Reply, Sender, Service, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(30);

async fn deliver_many(service: &Service, count: usize) {
    let sender = Sender::of("stripe");
    for number in 0..count {
        service
            .deliver_twice(&sender.event(&format!("evt_{number}")))
            .await;
    }
}

#[tokio::test]
async fn no_more_than_the_concurrency_limit_is_ever_in_hand() {
    let gate = Gate::closed();
    let behind = gate.clone();
    let sink = Sink::that(move |_| Reply::Behind(behind.clone(), 200)).await;
    let service = Setup::stripe_to_with(&sink, "concurrency = 3").start().await;
    deliver_many(&service, 20).await;
    sink.until_received(3, LIMIT).await;
    // Let through one by one: each makes room for exactly one more.
    for passed in 1..=20 {
        gate.let_through(1);
        sink.until_effects(passed, LIMIT).await;
    }
    assert_eq!((sink.running_max(), sink.applications()), (3, 20));
}

#[tokio::test]
async fn one_slow_destination_does_not_slow_another() {
    let gate = Gate::closed();
    let behind = gate.clone();
    let (slow, fast) = (
        Sink::that(move |_| Reply::Behind(behind.clone(), 200)).await,
        Sink::start().await,
    );
    let service = Setup::new()
        .source("stripe", "stripe", "deliver_to = [\"slow\", \"fast\"]")
        .http("slow", &slow.url(), "concurrency = 2")
        .http("fast", &fast.url(), "")
        .start()
        .await;
    deliver_many(&service, 50).await;
    fast.until_effects(50, LIMIT).await;
    assert!(slow.effects().is_empty());
    gate.open();
    slow.until_effects(50, LIMIT).await;
    assert_eq!((slow.running_max(), slow.applications()), (2, 50));
}

#[tokio::test]
async fn attempts_stay_below_the_rate_limit() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to_with(&sink, "rate_limit = \"10/s\"")
        .start()
        .await;
    let started = Instant::now();
    deliver_many(&service, 40).await;
    sink.until_effects(40, LIMIT).await;
    // One second's worth may arrive at once; the other thirty take three seconds.
    let took = sink.received().iter().map(|one| one.at).max().unwrap() - started;
    assert!(
        took >= Duration::from_millis(2500),
        "40 attempts at 10/s took {took:?}"
    );
}

#[tokio::test]
async fn a_destination_that_keeps_failing_is_left_alone_for_a_while_and_then_probed() {
    let sink = Sink::that(|_| Reply::Status(500)).await;
    let service = Setup::stripe_to_with(&sink, "max_attempts = 100\nconcurrency = 4")
        .start()
        .await;
    deliver_many(&service, 20).await;
    eventually("the breaker opens", LIMIT, async || {
        let metrics = service.admin("/metrics").await.text();
        metrics
            .lines()
            .any(|line| line.starts_with("hapax_breaker_open{") && line.ends_with(" 1"))
            .then_some(())
    })
    .await;
    let shown = service.api("destinations").await;
    assert!(
        shown["destinations"][0]["breaker_open_ms"].is_number() || sink.received().len() > 20,
        "{shown}"
    );
    // While open, it lets one probe through after each pause: far fewer than twenty that retry every 200 ms at most.
    let before = sink.received().len();
    let since = Instant::now();
    sink.until("a probe comes", LIMIT, |sink| sink.received().len() > before)
        .await;
    let probes = sink.received().len() - before;
    assert!(
        probes <= 4,
        "{probes} attempts in {:?} through an open breaker",
        since.elapsed()
    );

    sink.behave(|_| Reply::Status(200));
    sink.until_effects(20, Duration::from_secs(60)).await;
    assert_eq!(sink.applications(), 20);
    sink.assert_one_key_for_each_event();
    let metrics = service.admin("/metrics").await.text();
    assert!(
        metrics
            .lines()
            .any(|line| line.starts_with("hapax_breaker_open{") && line.ends_with(" 0")),
        "{metrics}"
    );
}
