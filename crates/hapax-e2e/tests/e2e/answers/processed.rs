//! `ack = "processed"`: the provider gets a 2xx once the delivery has finished, and an error if it has not.

use std::time::Duration;

use hapax_test_postgres::Server;

use hapax_testkit::{Gate, Reply, Sender, Service, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(30);

async fn service(sink: &Sink, source: &str, destination: &str) -> Service {
    Setup::new()
        .source(
            "stripe",
            "stripe",
            &format!("deliver_to = [\"app\"]\nack = \"processed\"\n{source}"),
        )
        .http("app", &sink.url(), destination)
        .start()
        .await
}

#[tokio::test]
async fn an_event_is_answered_when_its_work_is_done_and_its_copy_too() {
    let sink = Sink::start().await;
    let service = service(&sink, "", "").await;
    for number in 0..5 {
        let delivery = Sender::of("stripe").event(&format!("evt_{number}"));
        service.deliver(&delivery).await.assert_durable("accepted");
        assert_eq!(sink.applications(), number + 1, "the answer came after the work");
        service.deliver(&delivery).await.assert_durable("duplicate");
    }
    assert_eq!(sink.applications(), 5);
}

#[tokio::test]
async fn a_failure_is_500_and_a_copy_makes_the_next_attempt_at_once() {
    let sink = Sink::that(|request| Reply::Status(if request.nth < 3 { 500 } else { 200 })).await;
    // Without the duplicate, the next attempt would be an hour away.
    let service = service(&sink, "", "backoff = { first = \"1h\", cap = \"1h\" }").await;
    let delivery = Sender::of("stripe").event("evt_1");
    for _ in 0..2 {
        let detail = service
            .deliver(&delivery)
            .await
            .assert_problem(500, "handler_failed");
        assert!(detail.contains("the event is stored"), "{detail}");
    }
    service.deliver(&delivery).await.assert_durable("duplicate");
    service.deliver(&delivery).await.assert_durable("duplicate");
    sink.assert_one_key_for_each_event();
    assert_eq!(sink.applications(), 1);
}

#[tokio::test]
async fn a_dead_event_is_500_until_it_is_replayed() {
    let sink = Sink::that_first(|| Reply::Status(410)).await;
    let service = service(&sink, "", "").await;
    let delivery = Sender::of("stripe").event("evt_1");
    for _ in 0..2 {
        service
            .deliver(&delivery)
            .await
            .assert_problem(500, "handler_failed");
    }
    let list = service.api("events").await;
    let id = list["events"][0]["id"].as_str().unwrap();
    service.hapax(&["replay", id]).await.assert_code(0);
    service.until_event_is(id, "completed", LIMIT).await;
    service.deliver(&delivery).await.assert_durable("duplicate");
}

#[tokio::test]
async fn work_that_takes_longer_is_503_and_goes_on() {
    let gate = Gate::closed();
    let held = gate.clone();
    let sink = Sink::that(move |_| Reply::Behind(held.clone(), 200)).await;
    let service = service(&sink, "ack_timeout = \"100ms\"", "").await;
    let delivery = Sender::of("stripe").event("evt_1");
    for _ in 0..2 {
        let answer = service.deliver(&delivery).await;
        assert_eq!(answer.header("retry-after"), Some("2"));
        answer.assert_problem(503, "in_flight");
    }
    gate.open();
    let list = service.api("events").await;
    let id = list["events"][0]["id"].as_str().unwrap();
    service.until_event_is(id, "completed", LIMIT).await;
    service.deliver(&delivery).await.assert_durable("duplicate");
    assert_eq!(sink.received().len(), 1, "copies ask, they do not run it again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_on_another_replica_hears_how_it_ended() {
    let gate = Gate::closed();
    let held = gate.clone();
    let sink = Sink::that(move |_| Reply::Behind(held.clone(), 200)).await;
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let replica = || {
        Setup::new()
            .source(
                "stripe",
                "stripe",
                "deliver_to = [\"app\"]\nack = \"processed\"\nack_timeout = \"20s\"",
            )
            .http("app", &sink.url(), "")
            .database(&database.url())
            .start()
    };
    let (one, other) = (replica().await, replica().await);
    let delivery = Sender::of("stripe").event("evt_1");
    let (first, second, ()) = tokio::join!(one.deliver(&delivery), other.deliver(&delivery), async {
        sink.until_received(1, LIMIT).await;
        gate.open();
    });
    let mut statuses = [first.field("status"), second.field("status")];
    statuses.sort();
    assert_eq!(statuses, ["accepted", "duplicate"]);
    assert_eq!(sink.applications(), 1);
}
