//! 503: the service cannot accept it now. The provider is told when to retry, and then the event is new.

use std::time::Duration;

use rusqlite::Connection as Database;

use hapax_testkit::{Delivery, HttpResponse, Sender, Setup, Sink, Wire, deliver_all, eventually};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_store_that_cannot_write_is_503_and_the_event_is_new_once_it_can() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    service.deliver_twice(&sender.event("evt_before")).await;

    let foreign = Database::open(service.setup.store_path()).unwrap();
    foreign.execute_batch("begin immediate").unwrap();
    let delivery = sender.event("evt_during");
    let answer = service.deliver(&delivery).await;
    answer.assert_problem(503, "store_unavailable");
    assert!(retry_after(&answer) >= 1);
    let ready = service.admin("/readyz").await;
    assert_eq!(ready.status, 503, "{}", ready.text());
    assert_eq!(
        service.admin("/healthz").await.status,
        200,
        "a store that is down is no reason for a restart"
    );

    foreign.execute_batch("rollback").unwrap();
    let accepted = eventually("the store is back", LIMIT, async || {
        let answer = service.deliver(&delivery).await;
        answer.is_durable().then_some(answer)
    })
    .await;
    accepted.assert_durable("accepted");
    service.deliver(&delivery).await.assert_durable("duplicate");
    sink.until_effects(2, LIMIT).await;
    assert_eq!(sink.applications(), 2);
}

#[tokio::test]
async fn a_copy_never_gets_2xx_while_the_first_is_not_committed() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    let foreign = Database::open(service.setup.store_path()).unwrap();
    foreign.execute_batch("begin immediate").unwrap();
    let deliveries = vec![Sender::of("stripe").event("evt_1")];
    let copies = hapax_testkit::Repeated {
        deliveries,
        each: 8,
        connections: 8,
    };
    let answers = deliver_all(service.address(), copies).await;
    foreign.execute_batch("rollback").unwrap();
    for answer in answers.values().flatten() {
        answer.assert_problem(503, "store_unavailable");
    }
}

#[tokio::test]
async fn more_bytes_in_flight_than_there_is_room_for_is_503_and_nothing_grows_beyond() {
    let service = Setup::new()
        .server("body_limit = \"64MiB\"")
        .source("stripe", "stripe", "")
        .start()
        .await;
    let delivery = Sender::of("stripe").event("evt_1");
    let mebibyte = vec![b'x'; 1 << 20];
    // Bodies that are never finished: they occupy memory for the bytes sent so far.
    let mut held = Vec::new();
    let refused = loop {
        assert!(held.len() < 16, "16 bodies of 48 MiB each are all in memory");
        let mut connection = Wire::open(service.address()).await;
        connection
            .say(&delivery.head("content-length: 60000000\r\n"))
            .await;
        if let Some(answer) = connection.say_unless_answered(&mebibyte, 48).await {
            break answer;
        }
        held.push(connection);
    };
    refused.assert_problem(503, "overloaded");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    assert!(
        service.resident_bytes() < 400 << 20,
        "{} bytes",
        service.resident_bytes()
    );
    drop(held);
    let accepted = eventually("there is room again", LIMIT, async || {
        accepted(&service.deliver(&delivery).await)
    })
    .await;
    accepted.assert_durable("accepted");
}

#[tokio::test]
async fn a_full_queue_of_writes_is_503_overloaded_and_what_was_queued_is_not_lost() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    let body = |id: &str| format!(r#"{{"id":"{id}","pad":"{}"}}"#, "x".repeat(4 << 20));
    let deliveries: Vec<Delivery> = (0..40)
        .map(|number| format!("evt_{number}"))
        .map(|id| sender.with_body(&id, body(&id)))
        .collect();

    let foreign = Database::open(service.setup.store_path()).unwrap();
    foreign.execute_batch("begin immediate").unwrap();
    let copies = hapax_testkit::Repeated {
        deliveries: deliveries.clone(),
        each: 1,
        connections: 40,
    };
    let answers = deliver_all(service.address(), copies).await;
    foreign.execute_batch("rollback").unwrap();
    let codes: std::collections::BTreeSet<String> = answers
        .values()
        .flatten()
        .map(|answer| answer.field("code"))
        .collect();
    assert!(
        codes.contains("overloaded"),
        "160 MiB wait to be written: {codes:?}"
    );
    assert!(
        answers
            .values()
            .flatten()
            .all(|answer| answer.status == 503 && retry_after(answer) >= 1)
    );

    let last = &deliveries[39];
    let answer = eventually("there is room again", LIMIT, async || {
        accepted(&service.deliver(last).await)
    })
    .await;
    answer.assert_durable("accepted");
    service.deliver(last).await.assert_durable("duplicate");
    sink.until_effects(1, LIMIT).await;
}

fn accepted(answer: &HttpResponse) -> Option<HttpResponse> {
    answer.is_durable().then(|| answer.clone())
}

fn retry_after(answer: &HttpResponse) -> u64 {
    answer
        .header("retry-after")
        .expect("a 503 says when to come again")
        .parse()
        .unwrap()
}
