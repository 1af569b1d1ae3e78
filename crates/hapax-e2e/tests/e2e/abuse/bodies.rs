//! Bodies that are too long, endless, or of two lengths at once.

use hapax_testkit::{Sender, Service, Setup, Wire};

async fn service() -> Service {
    Setup::new()
        .server("body_limit = \"64KiB\"")
        .source("stripe", "stripe", "")
        .start()
        .await
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_413_before_a_byte_of_it_was_sent() {
    let service = service().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let mut connection = Wire::open(service.address()).await;
    connection
        .say(&delivery.head("content-length: 1073741824\r\n"))
        .await;
    connection.hear().await.assert_problem(413, "body_too_large");
    assert_eq!(connection.hear_out().await, "");
    service.deliver_twice(&delivery).await;
}

#[tokio::test]
async fn an_endless_body_is_413_at_the_limit_and_the_connection_is_closed() {
    let service = service().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let mut connection = Wire::open(service.address()).await;
    connection
        .say(&delivery.head("transfer-encoding: chunked\r\n"))
        .await;
    let chunk = [b"4000\r\n", &[b'x'; 0x4000][..], b"\r\n"].concat();
    let answer = connection.say_unless_answered(&chunk, 100_000).await;
    let answer = answer.expect("1.6 GB were taken without an answer");
    answer.assert_problem(413, "body_too_large");
    assert!(
        service.resident_bytes() < 200 << 20,
        "{}",
        service.resident_bytes()
    );
    service.deliver_twice(&delivery).await;
}

#[tokio::test]
async fn a_chunked_delivery_within_the_limit_is_taken() {
    let service = service().await;
    let delivery = Sender::of("stripe").event("evt_1");
    for expected in ["accepted", "duplicate"] {
        let mut connection = Wire::open(service.address()).await;
        connection
            .say(&delivery.head("transfer-encoding: chunked\r\n"))
            .await;
        for part in delivery.body.chunks(7) {
            connection.say(format!("{:x}\r\n", part.len()).as_bytes()).await;
            connection.say(&[part, b"\r\n"].concat()).await;
        }
        connection.say(b"0\r\n\r\n").await;
        let answer = connection.hear().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.assert_durable(expected);
    }
}

#[tokio::test]
async fn a_request_with_two_lengths_is_never_read_as_two_requests() {
    let service = service().await;
    let delivery = Sender::of("stripe").event("evt_smuggled");
    let length = delivery.body.len();
    let hidden = [
        delivery.head(&format!("content-length: {length}\r\n")),
        delivery.body.to_vec(),
    ]
    .concat();
    let attempts = [
        format!(
            "content-length: {}\r\ntransfer-encoding: chunked\r\n",
            hidden.len() + 5
        ),
        format!(
            "transfer-encoding: chunked\r\ncontent-length: {}\r\n",
            hidden.len() + 5
        ),
        "content-length: 5\r\ncontent-length: 6\r\n".to_owned(),
        "transfer-encoding: chunked, identity\r\n".to_owned(),
        "transfer-encoding: xchunked\r\n".to_owned(),
        "content-length: -1\r\n".to_owned(),
        "content-length: +5\r\n".to_owned(),
    ];
    for lengths in attempts {
        let mut connection = Wire::open(service.address()).await;
        let outer = Sender::of("stripe").event("evt_outer");
        connection
            .say(&[outer.head(&lengths), b"0\r\n\r\n".to_vec(), hidden.clone()].concat())
            .await;
        let answer = connection.hear_out().await;
        assert!(
            answer.starts_with("HTTP/1.1 4"),
            "{lengths:?} was answered {answer:?}"
        );
        assert_eq!(
            answer.matches("HTTP/1.1 ").count(),
            1,
            "{lengths:?} was read as two requests: {answer}"
        );
    }
    // Had the hidden request been accepted, this would be a duplicate.
    service.deliver_twice(&delivery).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_in_its_body_leaves_nothing_behind() {
    let service = service().await;
    let delivery = Sender::of("stripe").event("evt_1");
    for _ in 0..20 {
        let mut connection = Wire::open(service.address()).await;
        let head = delivery.head(&format!("content-length: {}\r\n", delivery.body.len()));
        connection
            .say(&[head, delivery.body[..20].to_vec()].concat())
            .await;
    }
    service.deliver_twice(&delivery).await;
}
