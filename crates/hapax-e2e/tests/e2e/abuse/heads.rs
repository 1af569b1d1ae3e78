//! Heads that are too large or too many.

use hapax_testkit::{Sender, Service, Setup, Wire};

async fn assert_refused(service: &Service, head: &str) {
    let mut connection = Wire::open(service.address()).await;
    // The other side may answer before it has read everything.
    let answer = match connection.say_unless_answered(head.as_bytes(), 1).await {
        Some(answer) => answer,
        None => connection.hear().await,
    };
    connection.hear_out().await;
    let shown: String = head.chars().take(80).collect();
    assert_eq!(answer.status / 100, 4, "{shown:?} was answered {answer:?}");
}

#[tokio::test]
async fn header_bombs_are_refused_and_deliveries_go_on() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    let start = "POST /in/stripe HTTP/1.1\r\nhost: e2e\r\ncontent-length: 2\r\n";
    let many = "x-more: y\r\n".repeat(10_000);
    assert_refused(&service, &format!("{start}{many}\r\n{{}}")).await;
    let huge = "y".repeat(1 << 20);
    assert_refused(&service, &format!("{start}x-huge: {huge}\r\n\r\n{{}}")).await;
    assert_refused(&service, &format!("{start}{huge}: x\r\n\r\n{{}}")).await;
    assert_refused(
        &service,
        &format!("POST /in/{huge} HTTP/1.1\r\nhost: e2e\r\n\r\n"),
    )
    .await;
    assert!(service.resident_bytes() < 200 << 20);
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_deliveries_go_on() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    for head in [
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",
        "HELLO\r\n\r\n",
        "POST /in/stripe HTTP/9.9\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
    ] {
        assert_refused(&service, head).await;
    }
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}

#[tokio::test]
async fn a_signature_header_of_many_signatures_is_refused_without_checking_them_all() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let bomb = format!("t=1,{}", "v1=00,".repeat(2_000));
    let answer = service
        .deliver(&delivery.clone().with_other_header("stripe-signature", bomb))
        .await;
    answer.assert_problem(401, "signature_invalid");
    service.deliver_twice(&delivery).await;
}
