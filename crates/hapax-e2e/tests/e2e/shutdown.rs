//! Shutdown: running attempts finish or are returned, in time, and after a restart nothing is missing.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use hapax_testkit::{Connection, Gate, Reply, Sender, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(30);
/// The service promises to be gone by then.
const STOP_LIMIT: Duration = Duration::from_secs(25);

#[tokio::test]
async fn sigterm_lets_a_running_delivery_end_and_exits_0() {
    let sink = Sink::that(|_| Reply::Slow(Duration::from_secs(1), 200)).await;
    let mut service = Setup::stripe_to(&sink).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_received(1, LIMIT).await;
    service.signal(Signal::TERM);
    assert_eq!(service.ended(STOP_LIMIT).await.code(), Some(0));
    assert_eq!(sink.applications(), 1);
    service.start_again().await;
    service
        .deliver(&Sender::of("stripe").event("evt_1"))
        .await
        .assert_durable("duplicate");
    assert_eq!(sink.received().len(), 1, "a finished delivery is not made again");
}

#[tokio::test]
async fn a_delivery_that_does_not_end_is_given_back_and_made_again_with_the_same_key() {
    let gate = Gate::closed();
    let behind = gate.clone();
    let sink = Sink::that_first(move || Reply::Behind(behind.clone(), 200)).await;
    let mut service = Setup::stripe_to_with(&sink, "timeout = \"50s\"").start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_received(1, LIMIT).await;
    let started = Instant::now();
    service.signal(Signal::TERM);
    assert_eq!(service.ended(STOP_LIMIT).await.code(), Some(0));
    assert!(started.elapsed() < STOP_LIMIT);

    service.start_again().await;
    // Since it was returned, it need not wait for a lease of 60 s to expire.
    let event = service
        .until_event_is(&id, "completed", Duration::from_secs(10))
        .await;
    assert_eq!(sink.received().len(), 2, "{event}");
    sink.assert_one_key_for_each_event();
    gate.open();
}

#[tokio::test]
async fn a_second_sigterm_ends_it_at_once_and_loses_nothing() {
    let sink = Sink::that_first(|| Reply::Hang).await;
    let mut service = Setup::stripe_to_with(&sink, "timeout = \"4s\"\nlease = \"5s\"")
        .start()
        .await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_received(1, LIMIT).await;
    service.signal(Signal::TERM);
    hapax_testkit::eventually("it is stopping", LIMIT, async || {
        service.log().contains("stopping").then_some(())
    })
    .await;
    let started = Instant::now();
    service.signal(Signal::TERM);
    service.ended(Duration::from_secs(2)).await;
    assert!(started.elapsed() < Duration::from_secs(2));
    service.start_again().await;
    service.until_event_is(&id, "completed", LIMIT).await;
    sink.assert_one_key_for_each_event();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_answers_every_request_it_took_and_loses_none() {
    let sink = Sink::start().await;
    let mut service = Setup::stripe_to(&sink).start().await;
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..8 {
        let address = service.address();
        clients.spawn(async move {
            let (sender, mut connection) = (Sender::of("stripe"), Connection::to(address));
            let mut answered = Vec::new();
            for number in 0.. {
                let delivery = sender.event(&format!("evt_{client}_{number}"));
                match connection.try_deliver(&delivery).await {
                    Ok(answer) if answer.is_durable() => answered.push(delivery.event_id),
                    Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
                    // A refused or closed connection is an honest refusal; one that breaks off within a response is
                    // not.
                    Err(error) => {
                        assert!(!format!("{error:#}").contains("broke off"), "{error:#}");
                        break;
                    }
                }
            }
            answered
        });
    }
    sink.until_effects(50, LIMIT).await;
    service.signal(Signal::TERM);
    assert_eq!(service.ended(STOP_LIMIT).await.code(), Some(0));
    let answered: Vec<String> = clients.join_all().await.into_iter().flatten().collect();
    assert!(answered.len() >= 50);
    service.start_again().await;
    sink.until("every answered event took effect", LIMIT, |sink| {
        let applied = sink.events_applied();
        answered.iter().all(|id| applied.contains(id))
    })
    .await;
    sink.assert_one_key_for_each_event();
    for id in answered.iter().take(50) {
        service
            .deliver(&Sender::of("stripe").event(id))
            .await
            .assert_durable("duplicate");
    }
}

#[tokio::test]
async fn ctrl_c_stops_it_as_sigterm_does() {
    let mut service = Setup::new().source("stripe", "stripe", "").start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    service.deliver_twice(&delivery).await;
    service.signal(Signal::INT);
    assert_eq!(service.ended(STOP_LIMIT).await.code(), Some(0));
    service.start_again().await;
    service.deliver(&delivery).await.assert_durable("duplicate");
}
