//! Bodies that are too long, endless, or of two lengths at once.

use std::time::Duration;

use hapax_testkit::{RawConnection, Sender, Service, Setup};

const LIMIT: Duration = Duration::from_secs(20);

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
    let mut connection = RawConnection::to(service.address()).await;
    connection
        .write(delivery.head("content-length: 1073741824\r\n"))
        .await
        .unwrap();
    let answer = connection.read_until_closed(LIMIT).await;
    assert!(
        answer.starts_with("HTTP/1.1 413 ") && answer.contains("body_too_large"),
        "{answer}"
    );
    service.deliver_twice(&delivery).await;
}

#[tokio::test]
async fn an_endless_body_is_413_at_the_limit_and_the_connection_is_closed() {
    let service = service().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let mut connection = RawConnection::to(service.address()).await;
    connection
        .write(delivery.head("transfer-encoding: chunked\r\n"))
        .await
        .unwrap();
    let chunk = [b"4000\r\n", &[b'x'; 0x4000][..], b"\r\n"].concat();
    let answer = connection.write_unless_answered(&chunk, 100_000).await;
    let answer = answer.expect("1.6 GB were taken without an answer");
    assert!(
        answer.starts_with("HTTP/1.1 413 ") && answer.contains("body_too_large"),
        "{answer}"
    );
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
        let mut connection = RawConnection::to(service.address()).await;
        connection
            .write(delivery.head("transfer-encoding: chunked\r\n"))
            .await
            .unwrap();
        for part in delivery.body.chunks(7) {
            connection.write(format!("{:x}\r\n", part.len())).await.unwrap();
            connection.write([part, b"\r\n"].concat()).await.unwrap();
        }
        connection.write("0\r\n\r\n").await.unwrap();
        let answer = connection.read_answer(LIMIT).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains(expected),
            "{answer}"
        );
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
        let mut connection = RawConnection::to(service.address()).await;
        let outer = Sender::of("stripe").event("evt_outer");
        connection
            .write([outer.head(&lengths), b"0\r\n\r\n".to_vec(), hidden.clone()].concat())
            .await
            .unwrap();
        let answer = connection.read_until_closed(LIMIT).await;
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
        let mut connection = RawConnection::to(service.address()).await;
        let head = delivery.head(&format!("content-length: {}\r\n", delivery.body.len()));
        connection
            .write([head, delivery.body[..20].to_vec()].concat())
            .await
            .unwrap();
    }
    service.deliver_twice(&delivery).await;
}
