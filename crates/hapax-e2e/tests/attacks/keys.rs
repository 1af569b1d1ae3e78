//! Strangers who cause keys to be fetched: requests without a valid signature that name nonexistent certificates,
//! faster than the provider's server can respond.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hapax_verify::sign::{self, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{catalogue, sample};
use tokio::task::JoinSet;

use super::report;
use hapax_testkit::certificate::certificate_of;
use hapax_testkit::{Connection, Delivery, Reply, Service, Setup, Sink, now};

const STRANGERS: usize = 80;
/// Calls to PayPal that strangers can cause at once, plus those of the following minute: see
/// `http/ingest/keys/source.rs`.
const CALLS_MAX: usize = 32 + 30;
const LIMIT: Duration = Duration::from_secs(30);

const SOURCES: &str = "
[sources.paypal]
provider = \"paypal\"
options = { webhook_id = \"the-webhook\" }

[sources.sns]
provider = \"aws-sns\"
options = { topic_arns = [\"arn:aws:sns:us-east-1:123456789012:sample\"] }
";

/// A server that has the certificate of SNS, and never answers for any other.
async fn key_server(sns: &SecretPair) -> Sink {
    let certificate = Bytes::from(certificate_of("sns.amazonaws.com", &sns.verifying));
    Sink::that(move |asked| {
        if asked.path.starts_with("/sns.") {
            Reply::body(200, certificate.clone())
        } else {
            Reply::Hang
        }
    })
    .await
}

async fn start(keys: &Sink) -> Service {
    let server = keys.url().replace("/hook", "");
    Setup::new()
        .server(&format!("key_server = \"{server}\""))
        .table(SOURCES)
        .start()
        .await
}

fn pair_of_sns() -> SecretPair {
    generate_secret(catalogue::get("aws-sns").unwrap(), &[7; 32])
}

fn notification(pair: &SecretPair, id: &str) -> Delivery {
    let sns = catalogue::get("aws-sns").unwrap();
    let signer = ProviderSigner::new(sns, &pair.signing, &sns.sample_options()).unwrap();
    let sample = sample::of_provider(sns, id);
    let delivered = signer.sign(sign::Delivery {
        id: id.to_owned(),
        timestamp: now(),
        headers: sample.headers,
        body: sample.body,
        ..sign::Delivery::default()
    });
    delivery("/in/sns", id, delivered.headers, delivered.body)
}

/// An unsigned delivery that names this certificate.
fn forgery(certificate: &str) -> Delivery {
    let headers = [
        ("paypal-transmission-id", "made-up"),
        ("paypal-transmission-time", "2026-01-01T00:00:00Z"),
        ("paypal-auth-algo", "SHA256withRSA"),
        ("paypal-transmission-sig", "AAAA"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let url = format!("https://api.paypal.com/v1/notifications/certs/{certificate}");
    delivery("/in/paypal", "forged", headers.to_vec(), b"{}".to_vec()).with_header("paypal-cert-url", url)
}

fn delivery(path: &str, id: &str, headers: Vec<(String, String)>, body: Vec<u8>) -> Delivery {
    Delivery {
        event_id: id.to_owned(),
        path: path.to_owned(),
        headers: headers
            .into_iter()
            .map(|(name, value)| (name, value.into_bytes()))
            .collect(),
        body: Bytes::from(body),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_that_strangers_make_up_for_one_source_never_delay_another() {
    let sns = pair_of_sns();
    let keys = key_server(&sns).await;
    let service = start(&keys).await;
    let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut strangers = JoinSet::new();
    for _ in 0..STRANGERS {
        let (address, stop, sent) = (service.address(), Arc::clone(&stop), Arc::clone(&sent));
        strangers.spawn(async move {
            let mut connection = Connection::to(address);
            while !stop.load(Ordering::Relaxed) {
                let number = sent.fetch_add(1, Ordering::Relaxed);
                let answer = connection
                    .deliver(&forgery(&format!("CERT-00000000-00000000-{number:08x}")))
                    .await;
                assert!([401, 503].contains(&answer.status), "{}", answer.text());
            }
        });
    }
    // All slots for PayPal's certificates are taken by then, and most strangers were turned away.
    keys.until_received(4, LIMIT).await;
    let asked = Arc::clone(&sent);
    hapax_testkit::eventually("every stranger was answered once", LIMIT, async || {
        (asked.load(Ordering::Relaxed) >= 2 * STRANGERS).then_some(())
    })
    .await;

    let began = Instant::now();
    let (address, notification) = (service.address(), notification(&sns, "m-1"));
    let mut connection = Connection::to(address);
    let first = connection.deliver(&notification).await;
    let second = connection.deliver(&notification).await;
    let took = began.elapsed();
    stop.store(true, Ordering::Relaxed);
    while let Some(stranger) = strangers.join_next().await {
        stranger.unwrap();
    }
    let to_paypal = |one: &&hapax_testkit::Received| one.path.starts_with("/api.paypal.com/");
    let calls = keys.received().iter().filter(to_paypal).count();
    report::write(
        "keys-across-sources",
        &format!(
            "{} requests of {STRANGERS} strangers for made-up PayPal certificates, and a notification of SNS",
            sent.load(Ordering::Relaxed)
        ),
        &format!(
            "SNS: {} and {} within {} ms; {calls} calls to PayPal",
            first.status,
            second.status,
            took.as_millis()
        ),
    );
    first.assert_durable("accepted");
    second.assert_durable("duplicate");
    assert!(calls <= CALLS_MAX, "{calls} calls");
}

#[tokio::test]
async fn no_call_is_made_for_a_certificate_that_its_sender_cannot_have() {
    let sns = pair_of_sns();
    let keys = key_server(&sns).await;
    let service = start(&keys).await;
    let mut connection = Connection::to(service.address());
    for number in 0..STRANGERS {
        let made_up = connection
            .deliver(&forgery(&format!("CERT-made-up-{number}")))
            .await;
        made_up.assert_problem(401, "signature_invalid");
    }
    let foreign = r#"{"Type":"Notification","MessageId":"1","TopicArn":"arn:aws:sns:us-east-1:1:foreign",
        "Message":"m","Timestamp":"2026-01-01T00:00:00Z","SignatureVersion":"2","Signature":"AAAA","SigningCertURL":
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"}"#;
    let foreign = delivery("/in/sns", "1", Vec::new(), foreign.as_bytes().to_vec());
    let answer = connection.deliver(&foreign).await;
    let calls = keys.received().len();
    report::write(
        "keys-by-shape",
        &format!("{STRANGERS} certificates that PayPal cannot have, a topic of SNS that is not ours"),
        &format!("{calls} calls"),
    );
    assert_eq!((answer.status, calls), (401, 0), "{}", answer.text());
    service.deliver_twice(&notification(&sns, "m-1")).await;
}
