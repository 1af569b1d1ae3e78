//! The `http` destination on its own. Every attempt is made twice.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax_config::KeyForm;
use hapax_core::{
    BodyHash, ErrorClass, EventIds, Generation, Headers, Identity, Leased, StoredEvent, SystemClock,
    SystemRandom, Timestamp, Token,
};
use hapax_delivery::destination::{Address, Destinations, HttpTarget};
use hapax_engine::{AttemptResult, Reply, Transport};
use hapax_outbound::client::Client;
use hapax_outbound::lookup::Lookup;
use hapax_telemetry::traces::context::Propagation;
use hapax_testkit::Sink;
use http::Response;
use http_body_util::Full;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

pub(super) fn delivery() -> Leased {
    let identity = Identity::new("stripe", "evt_1");
    let now = Timestamp::from_seconds(1_767_225_600);
    let id = EventIds::default().next(now, identity.key(), &SystemRandom::new());
    let body = Bytes::from_static(b"the payload");
    Leased {
        idempotency_key: identity.idempotency_key(Generation(0), &"app".into()),
        event: StoredEvent {
            id,
            identity,
            source: "stripe".into(),
            event_type: Some("invoice.paid".to_owned()),
            received_at: now,
            signed_at: None,
            secret_index: None,
            raw_hash: BodyHash::of(&body),
            headers: Headers::pack([("content-type", &b"text/plain"[..])]),
            body,
            batch: None,
        },
        destination: "app".into(),
        token: Token(1),
        lease_until: now,
        generation: Generation(0),
        attempt: 1,
        lost: 0,
        lane: None,
    }
}

async fn attempt_with(url: &str, timeout: Duration, lookup: Lookup) -> AttemptResult {
    let target = HttpTarget {
        url: Address::Fixed(url.parse().unwrap()),
        signer: None,
        timeout,
        client: Client::new(lookup).unwrap(),
        clock: Arc::new(SystemClock::default()),
        key_form: KeyForm::Plain,
        batch_headers: Arc::default(),
        propagation: Propagation::PassOn,
    };
    let targets = HashMap::from([("app".into(), Arc::new(target) as Arc<dyn Transport>)]);
    let destinations = Destinations::new(targets);
    let first = destinations.deliver(&delivery()).await;
    let second = destinations.deliver(&delivery()).await;
    assert_eq!(first, second);
    first
}

async fn attempt(url: &str) -> AttemptResult {
    attempt_with(url, Duration::from_secs(10), Lookup::system()).await
}

fn failed(answer: &AttemptResult) -> (ErrorClass, &str, Option<Duration>) {
    match &answer.reply {
        Reply::Failed {
            class,
            message,
            retry_after,
        } => (*class, message, *retry_after),
        Reply::Done | Reply::Refused { .. } => panic!("{answer:?}"),
    }
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

async fn answered(
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
) -> AttemptResult {
    let sink = Sink::answering(move |_| answer(status, headers, body)).await;
    attempt(&sink.url()).await
}

#[tokio::test]
async fn any_2xx_is_done_and_its_words_are_kept() {
    for status in [200, 202, 204, 299] {
        let answer = answered(status, &[], if status == 204 { "" } else { "thanks" }).await;
        assert_eq!(answer.reply, Reply::Done);
        assert_eq!(answer.status, Some(i32::from(status)));
        assert_eq!(answer.excerpt, if status == 204 { "" } else { "thanks" });
    }
}

#[tokio::test]
async fn gone_and_retry_no_are_never_tried_again() {
    for (status, headers) in [
        (410, &[][..]),
        (400, &[("hapax-retry", "no")][..]),
        (503, &[("hapax-retry", "No")][..]),
    ] {
        let sink = Sink::answering(move |_| answer(status, headers, "")).await;
        let answer = attempt(&sink.url()).await;
        assert!(
            matches!(
                answer.reply,
                Reply::Refused {
                    class: ErrorClass::Refused,
                    ..
                }
            ),
            "{answer:?}"
        );
        assert_eq!(answer.status, Some(i32::from(status)));
    }
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let mut elsewhere = Sink::start().await;
    let location = elsewhere.url();
    let sink = Sink::answering(move |_| answer(307, &[("location", &location)], "")).await;
    let answer = attempt(&sink.url()).await;
    let (class, message, _) = failed(&answer);
    assert_eq!(class, ErrorClass::Status);
    assert!(
        message.contains("307") && message.contains("not followed"),
        "{message}"
    );
    assert!(elsewhere.rest().is_empty());
}

#[tokio::test]
async fn retry_after_is_heeded_where_it_belongs() {
    for (status, wait) in [(429, Some(7)), (503, Some(7)), (500, None)] {
        let sink = Sink::answering(move |_| answer(status, &[("retry-after", "7")], "")).await;
        let answer = attempt(&sink.url()).await;
        let (class, _, retry_after) = failed(&answer);
        assert_eq!(
            (class, retry_after),
            (ErrorClass::Status, wait.map(Duration::from_secs)),
            "{status}"
        );
    }
    let answer = answered(503, &[("retry-after", "999999999")], "").await;
    assert_eq!(failed(&answer).2, Some(Duration::from_secs(86_400)));
}

#[tokio::test]
async fn an_excerpt_is_bounded_and_text_whatever_came() {
    let sink = Sink::answering(|_| {
        let bytes = [vec![0xff, 0xfe], vec![b'x'; 300_000]].concat();
        Response::new(Full::new(Bytes::from(bytes)))
    })
    .await;
    let answer = attempt(&sink.url()).await;
    assert_eq!(answer.reply, Reply::Done);
    assert!(answer.excerpt.starts_with('\u{fffd}'));
    assert_eq!(answer.excerpt.chars().count(), 1024);
}

/// A server that answers every request with these bytes and then stays silent.
async fn mute_after(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut scratch = [0; 4096];
            let _ = stream.read(&mut scratch).await;
            let _ = stream.write_all(bytes).await;
            open.push(stream);
        }
    });
    address
}

#[tokio::test]
async fn an_answer_whose_body_never_ends_has_decided_with_its_head() {
    let address = mute_after(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nso far").await;
    let answer = attempt_with(
        &format!("http://{address}"),
        Duration::from_millis(300),
        Lookup::system(),
    )
    .await;
    assert_eq!(answer.reply, Reply::Done);
    assert_eq!(answer.excerpt, "so far");
}

#[tokio::test]
async fn no_answer_in_time_is_a_timeout() {
    let address = mute_after(b"").await;
    let answer = attempt_with(
        &format!("http://{address}"),
        Duration::from_millis(100),
        Lookup::system(),
    )
    .await;
    assert_eq!(failed(&answer).0, ErrorClass::Timeout);
    assert_eq!(answer.status, None);
}

#[tokio::test]
async fn nobody_there_is_connect_and_nonsense_is_protocol() {
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    assert_eq!(
        failed(&attempt(&format!("http://{free}")).await).0,
        ErrorClass::Connect
    );
    let address = mute_after(b"SSH-2.0-OpenSSH\r\n\r\n").await;
    assert_eq!(
        failed(&attempt(&format!("http://{address}")).await).0,
        ErrorClass::Protocol
    );
}

#[tokio::test]
async fn a_server_without_tls_where_tls_is_wanted_is_connect() {
    let sink = Sink::start().await;
    let answer = attempt(&sink.url().replace("http:", "https:")).await;
    assert_eq!(failed(&answer).0, ErrorClass::Connect);
}

#[tokio::test]
async fn a_metadata_address_is_blocked_as_a_literal_and_behind_a_name() {
    for url in [
        "http://169.254.169.254/latest",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
    ] {
        let answer = attempt(url).await;
        assert_eq!(failed(&answer).0, ErrorClass::Blocked, "{url}");
    }
    let sink = Sink::start().await;
    let good = sink.address;
    let lookup = Lookup::by(move |host| async move {
        assert_eq!(host, "innocent.example");
        Ok(vec![good, SocketAddr::from(([169, 254, 169, 254], 80))])
    });
    let answer = attempt_with("http://innocent.example/", Duration::from_secs(10), lookup).await;
    let (class, message, _) = failed(&answer);
    assert_eq!(class, ErrorClass::Blocked);
    assert!(message.contains("169.254.169.254"), "{message}");
}

#[tokio::test]
async fn a_name_that_leads_to_an_allowed_address_is_called() {
    let mut sink = Sink::start().await;
    let ip = sink.address.ip();
    let lookup = Lookup::by(move |_| async move { Ok(vec![SocketAddr::from((ip, 0))]) });
    let url = format!("http://app.example:{}/hook", sink.address.port());
    let answer = attempt_with(&url, Duration::from_secs(10), lookup).await;
    assert_eq!(answer.reply, Reply::Done);
    assert_eq!(
        sink.next().await.headers["host"],
        format!("app.example:{}", sink.address.port())
    );
}

#[tokio::test]
async fn a_destination_that_a_reload_took_away_fails_and_stays_alive() {
    let destinations = Destinations::default();
    for _ in 0..2 {
        let answer = destinations.deliver(&delivery()).await;
        assert_eq!(failed(&answer).0, ErrorClass::Connect);
    }
}
