//! Failures: retried with the same key until they succeed, but not earlier than the destination asks for.

use std::time::Duration;

use hapax_testkit::{Reply, Sender, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_failed_attempt_is_repeated_with_the_same_key_until_it_succeeds() {
    let sink = Sink::that(|request| match request.nth {
        1 => Reply::Status(500),
        2 => Reply::DropAfterApplying,
        3 => Reply::Status(404),
        _ => Reply::Status(204),
    })
    .await;
    let service = Setup::stripe_to(&sink).start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let event = service.until_event_is(&id, "completed", LIMIT).await;
    let received = sink.received();
    assert_eq!(received.len(), 4);
    let attempts: Vec<_> = received
        .iter()
        .map(|one| one.header("hapax-attempt").unwrap())
        .collect();
    assert_eq!(attempts, ["1", "2", "3", "4"]);
    sink.assert_one_key_for_each_event();
    assert_eq!(sink.effects().len(), 1);
    assert_eq!(event["attempts"].as_array().map(Vec::len), Some(4), "{event}");
    assert_eq!(event["attempts"][0]["status"], 500, "{event}");
    assert_eq!(event["deliveries"][0]["attempts"], 4, "{event}");
}

#[tokio::test]
async fn retry_after_is_honoured_for_429_and_503() {
    for status in [429, 503] {
        let sink = Sink::that(move |request| match request.nth {
            1 => Reply::with(status, &[("retry-after", "2")]),
            _ => Reply::Status(200),
        })
        .await;
        let service = Setup::stripe_to(&sink).start().await;
        service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
        sink.until_effects(1, LIMIT).await;
        let received = sink.received();
        let waited = received[1].at - received[0].at;
        // The backoff alone would have retried within 50 ms.
        assert!(
            waited >= Duration::from_millis(1900),
            "{status}: came again after {waited:?}"
        );
    }
}

#[tokio::test]
async fn back_off_stays_below_its_cap() {
    let sink = Sink::that(|request| {
        if request.nth < 8 {
            Reply::Status(500)
        } else {
            Reply::Status(200)
        }
    })
    .await;
    let service = Setup::stripe_to_with(&sink, "backoff = { first = \"20ms\", cap = \"100ms\" }")
        .start()
        .await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_effects(1, LIMIT).await;
    let received = sink.received();
    assert_eq!(received.len(), 8);
    let total = received[7].at - received[0].at;
    // Seven waits of at most 100 ms each, and room for a busy machine.
    assert!(total < Duration::from_secs(5), "{total:?}");
}

#[tokio::test]
async fn a_destination_that_hangs_is_given_up_at_its_timeout_and_tried_again() {
    let sink = Sink::that_first(|| Reply::Hang).await;
    let service = Setup::stripe_to_with(&sink, "timeout = \"500ms\"").start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_effects(1, LIMIT).await;
    let received = sink.received();
    assert_eq!(received.len(), 2);
    assert!(received[1].at - received[0].at >= Duration::from_millis(450));
    sink.assert_one_key_for_each_event();
}

#[tokio::test]
async fn a_destination_that_is_down_gets_everything_once_it_is_up() {
    let address = Sink::start().await.stop().await;
    let service = Setup::new()
        .source("stripe", "stripe", "deliver_to = [\"app\"]")
        .http("app", &format!("http://{address}/hook"), "max_attempts = 100")
        .start()
        .await;
    for number in 0..5 {
        service
            .deliver_twice(&Sender::of("stripe").event(&format!("evt_{number}")))
            .await;
    }
    let sink = Sink::at(address).await;
    // The breaker may have opened: it lets a probe through after a pause.
    sink.until_effects(5, Duration::from_secs(60)).await;
    assert_eq!(sink.applications(), 5);
}
