//! Clients that send a byte now and then, to hold a connection forever.

use std::time::Duration;

use hapax_testkit::{Sender, Setup, Wire};

/// Both time limits are 10 s at most; a busy machine is granted more.
const CUT_LIMIT: Duration = Duration::from_secs(30);
const TRICKLE: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_heads_and_slow_bodies_are_cut_off_while_deliveries_go_on() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let slow_head = trickle(
        &service,
        b"POST /in/stripe HTTP/1.1\r\nhost: e2e\r\nx-slow: ".to_vec(),
    );
    let slow_body = trickle(&service, delivery.head("content-length: 100000\r\n"));
    let silent = async {
        let wire = Wire::open(service.address()).await;
        wire.patient_for(CUT_LIMIT).hear_out().await
    };
    let honest = async {
        for number in 0..20 {
            service
                .deliver_twice(&Sender::of("stripe").event(&format!("evt_{number}")))
                .await;
        }
    };
    let (head, body, silent, ()) = tokio::join!(slow_head, slow_body, silent, honest);
    assert!(
        head.starts_with("HTTP/1.1 408 ") && head.contains("head_timeout"),
        "{head}"
    );
    assert!(
        body.starts_with("HTTP/1.1 408 ") && body.contains("body_timeout"),
        "{body}"
    );
    assert!(silent.is_empty(), "{silent}");
    service
        .deliver(&Sender::of("stripe").event("evt_1"))
        .await
        .assert_durable("duplicate");
}

/// Sends the beginning, then a byte now and then until the other side closes. Returns its response.
async fn trickle(service: &hapax_testkit::Service, beginning: Vec<u8>) -> String {
    let mut connection = Wire::open(service.address()).await;
    connection.say(&beginning).await;
    let slowly = async {
        loop {
            if let Some(answer) = connection.say_slowly(b"x", TRICKLE).await {
                return answer;
            }
        }
    };
    hapax_testkit::within("a slow client is cut off", CUT_LIMIT, slowly).await
}
