//! 4xx: requests that the provider has to change. Nothing of them is kept, and the real event is still new afterwards.

use std::time::Duration;

use hapax_testkit::{Delivery, Sender, Service, Setup, eventually};

/// A service that only stores, with small limits.
async fn small_service() -> Service {
    let setup = Setup::new().server("body_limit = \"4KiB\"");
    setup
        .source("stripe", "stripe", "")
        .source("github", "github", "")
        .start()
        .await
}

/// Sends it twice: a refusal claims nothing, so the second is refused just the same.
async fn assert_refused_twice(service: &Service, delivery: &Delivery, status: u16, code: &str) {
    for _ in 0..2 {
        let answer = service.deliver(delivery).await;
        let detail = answer.assert_problem(status, code);
        assert!(detail.len() > 20, "the detail says too little: {detail}");
    }
}

#[tokio::test]
async fn a_missing_wrong_or_old_signature_is_401_with_a_code_for_each() {
    let service = small_service().await;
    let sender = Sender::of("stripe");
    let good = sender.event("evt_1");
    let unsigned = good.clone().without_header("stripe-signature");
    assert_refused_twice(&service, &unsigned, 401, "signature_missing").await;

    let forged = Sender::with_secret("stripe", "stripe", "whsec_somebody_else").event("evt_1");
    assert_refused_twice(&service, &forged, 401, "signature_invalid").await;
    let mut tampered = good.clone();
    tampered.body = [&b" "[..], &good.body].concat().into();
    assert_refused_twice(&service, &tampered, 401, "signature_invalid").await;

    let hour = 3600;
    for timestamp in [now() - hour, now() + hour] {
        assert_refused_twice(
            &service,
            &sender.signed_at("evt_1", timestamp),
            401,
            "timestamp_out_of_range",
        )
        .await;
    }
    service.deliver_twice(&good).await;
}

#[tokio::test]
async fn an_event_without_an_id_is_400_and_so_is_a_body_that_cannot_be_read() {
    let service = small_service().await;
    let stripe = Sender::of("stripe");
    assert_refused_twice(
        &service,
        &stripe.with_body("", r#"{"type":"invoice.paid"}"#),
        400,
        "event_id_missing",
    )
    .await;
    assert_refused_twice(
        &service,
        &stripe.with_body("", r#"{"id":""}"#),
        400,
        "event_id_missing",
    )
    .await;
    assert_refused_twice(
        &service,
        &stripe.with_body("", "{not json"),
        400,
        "malformed_body",
    )
    .await;
    let nameless = Sender::of("github")
        .event("guid")
        .without_header("x-github-delivery");
    assert_refused_twice(&service, &nameless, 400, "event_id_missing").await;
}

#[tokio::test]
async fn a_source_that_nobody_configured_is_404() {
    let service = small_service().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let astray = delivery.clone().at_path("/in/strpie");
    assert_refused_twice(&service, &astray, 404, "unknown_source").await;
    assert!(service.deliver(&astray).await.field("detail").contains("strpie"));
    let elsewhere = service.deliver(&delivery.clone().at_path("/webhooks")).await;
    elsewhere.assert_problem(404, "not_found");
    service.deliver_twice(&delivery).await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_one_at_the_limit_is_taken() {
    let service = small_service().await;
    let sender = Sender::of("stripe");
    let of_length = |id: &str, length: usize| {
        let blank = format!(r#"{{"id":"{id}","pad":""}}"#);
        let padding = "x".repeat(length - blank.len());
        sender.with_body(id, blank.replace(r#""pad":"""#, &format!(r#""pad":"{padding}""#)))
    };
    assert_refused_twice(&service, &of_length("evt_1", 4097), 413, "body_too_large").await;
    assert_eq!(of_length("evt_1", 4096).body.len(), 4096);
    service.deliver_twice(&of_length("evt_1", 4096)).await;
}

#[tokio::test]
async fn another_method_is_405_and_says_which_is_right() {
    let service = small_service().await;
    for method in ["GET", "PUT", "DELETE"] {
        let request = http::Request::builder()
            .method(method)
            .uri("/in/stripe")
            .header("host", "e2e");
        let mut connection = hapax_testkit::Connection::to(service.address());
        let request = request.body(http_body_util::Full::default()).unwrap();
        let answer = connection.send(request).await.unwrap();
        answer.assert_problem(405, "method_not_allowed");
        assert!(answer.header("allow").unwrap().contains("POST"));
    }
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}

#[tokio::test]
async fn over_the_sources_rate_is_429_with_a_time_after_which_it_is_taken() {
    let service = Setup::new()
        .source("stripe", "stripe", "rate_limit = \"5/s\"")
        .start()
        .await;
    let sender = Sender::of("stripe");
    let mut refused = None;
    for number in 0..100 {
        let delivery = sender.event(&format!("evt_{number}"));
        let answer = service.deliver(&delivery).await;
        if answer.status == 429 {
            answer.assert_problem(429, "rate_limited");
            let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=5).contains(&seconds), "{seconds}");
            refused = Some(delivery);
            break;
        }
        answer.assert_durable("accepted");
    }
    let refused = refused.expect("100 deliveries at once are over 5 a second");
    let accepted = eventually("the rate recovers", Duration::from_secs(10), async || {
        let answer = service.deliver(&refused).await;
        answer.is_durable().then_some(answer)
    })
    .await;
    // It was refused before it was claimed, so it is new.
    accepted.assert_durable("accepted");
}

fn now() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs() as i64
}
