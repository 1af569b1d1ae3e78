//! Keys that providers publish: fetched from a real server on this machine, once, and never from anywhere else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax_core::Clock as _;
use hapax_server::{Server, Tuning};
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{OptionValue, Options, catalogue};
use http::{Response, StatusCode};
use http_body_util::Full;
use parking_lot::Mutex;

use super::day::clock::DayClock;
use super::site::{SECRET, Site, configuration, now};
use hapax_testkit::certificate::certificate_of;
use hapax_testkit::{HttpResponse, Sink};

const DELIVERIES: usize = 20;

/// The key server's response.
type Mood = Arc<Mutex<(StatusCode, Vec<u8>)>>;

/// A service with one source, whose keys are fetched, and the server that publishes them.
struct KeySite {
    site: Site,
    keys: Sink,
    mood: Mood,
}

impl KeySite {
    /// The source has its provider's name and no secret.
    async fn start(source: &str, status: StatusCode, body: impl Into<Vec<u8>>) -> Self {
        Self::tuned(source, status, body, Tuning::default()).await
    }

    async fn tuned(source: &str, status: StatusCode, body: impl Into<Vec<u8>>, tuning: Tuning) -> Self {
        let mood: Mood = Arc::new(Mutex::new((status, body.into())));
        let answer = Arc::clone(&mood);
        let keys = Sink::answering(move |_| {
            let (status, body) = answer.lock().clone();
            let mut response = Response::new(Full::new(Bytes::from(body)));
            *response.status_mut() = status;
            let elsewhere = "http://127.0.0.1:9/elsewhere".parse().unwrap();
            response.headers_mut().insert("location", elsewhere);
            response
        })
        .await;
        let dir = tempfile::tempdir().unwrap();
        let mut config = configuration(dir.path(), source);
        config.server.key_server = Some(format!("http://{}", keys.address).parse().unwrap());
        let server = Server::start(config, tuning).await.unwrap();
        KeySite {
            site: Site { server, dir },
            keys,
            mood,
        }
    }

    async fn plaid(pair: &SecretPair, status: StatusCode) -> Self {
        Self::start(PLAID, status, plaid_answer(pair)).await
    }

    fn answers(&self, status: StatusCode, body: impl Into<Vec<u8>>) {
        *self.mood.lock() = (status, body.into());
    }

    async fn deliver(&self, delivery: &Delivery) -> HttpResponse {
        self.site
            .post("/in/plaid", &delivery.headers, &delivery.body)
            .await
    }
}

const PLAID: &str = "
[sources.plaid]
provider = \"plaid\"
options = { client_id = \"the-client\", client_secret = \"env:SECRET\", environment = \"sandbox\" }
";

const SNS: &str = "
[sources.sns]
provider = \"aws-sns\"
options = { topic_arns = [\"arn:aws:sns:us-east-1:123456789012:MyTopic\"] }
";

const CERTIFICATE: &str = "SimpleNotificationService-0123456789abcdef0123456789abcdef.pem";

const TOPIC: &str = "arn:aws:sns:us-east-1:123456789012:MyTopic";

/// An SNS signer, and the certificate of its key.
fn sns() -> (ProviderSigner, String) {
    let sns = catalogue::get("aws-sns").unwrap();
    let pair = generate_secret(sns, &[7; 32]);
    let topics = OptionValue::List(vec![TOPIC.to_owned()]);
    let options: Options = [("topic_arns", topics)].into_iter().collect();
    let signer = ProviderSigner::new(sns, &pair.signing, &options).unwrap();
    (signer, certificate_of("sns.amazonaws.com", &pair.verifying))
}

/// A service for SNS whose clock the test controls.
struct SnsDay {
    keys: KeySite,
    signer: ProviderSigner,
    clock: Arc<DayClock>,
    certificate: String,
}

impl SnsDay {
    async fn start() -> Self {
        let (signer, certificate) = sns();
        let clock = Arc::new(DayClock::that_ends_now(HOUR * 48));
        let tuning = Tuning {
            clock: clock.clone(),
            ..Tuning::default()
        };
        let keys = KeySite::tuned(SNS, StatusCode::OK, certificate.clone(), tuning).await;
        SnsDay {
            keys,
            signer,
            clock,
            certificate,
        }
    }

    async fn deliver(&self, id: &str) -> HttpResponse {
        let message = serde_json::json!({
            "Type": "Notification", "MessageId": id, "Message": "Hello",
            "SigningCertURL": format!("https://sns.us-east-1.amazonaws.com/{CERTIFICATE}"),
        });
        let delivery = self.signer.sign(Delivery {
            timestamp: self.clock.now().as_seconds(),
            body: message.to_string().into_bytes(),
            ..Delivery::default()
        });
        self.keys
            .site
            .post("/in/sns", &delivery.headers, &delivery.body)
            .await
    }

    async fn accepts(&self, id: &str) {
        for status in ["accepted", "duplicate"] {
            let reply = self.deliver(id).await;
            assert_eq!(reply.json()["status"], status, "{id}: {reply:?}");
        }
    }
}

const HOUR: Duration = Duration::from_secs(3600);

fn plaid_pair() -> SecretPair {
    generate_secret(catalogue::get("plaid").unwrap(), &[7; 32])
}

fn plaid_answer(pair: &SecretPair) -> String {
    format!("{{\"key\":{},\"request_id\":\"r\"}}", pair.verifying)
}

fn plaid_delivery(pair: &SecretPair, item: usize) -> Delivery {
    let plaid = catalogue::get("plaid").unwrap();
    let signer = ProviderSigner::new(plaid, &pair.signing, &Options::default()).unwrap();
    let body = format!("{{\"webhook_type\":\"ITEM\",\"webhook_code\":\"ERROR\",\"item_id\":\"{item}\"}}");
    signer.sign(Delivery {
        timestamp: now(),
        body: body.into_bytes(),
        ..Delivery::default()
    })
}

#[tokio::test]
async fn a_key_is_fetched_once_for_many_deliveries_at_once() {
    let pair = plaid_pair();
    let mut site = KeySite::plaid(&pair, StatusCode::OK).await;
    let deliveries: Vec<Delivery> = (0..DELIVERIES).map(|item| plaid_delivery(&pair, item)).collect();
    let address = site.site.server.ingest_address();
    let tasks: Vec<_> = deliveries
        .into_iter()
        .map(|delivery| {
            tokio::spawn(async move {
                hapax_testkit::wire::post(address, "/in/plaid", &delivery.headers, &delivery.body).await
            })
        })
        .collect();
    for task in tasks {
        let reply = task.await.unwrap();
        assert_eq!(
            (reply.status, &reply.json()["status"]),
            (200, &"accepted".into()),
            "{reply:?}"
        );
    }
    let asked = site.keys.rest();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/sandbox.plaid.com/webhook_verification_key/get");
    let question: serde_json::Value = serde_json::from_slice(&asked[0].body).unwrap();
    let key: serde_json::Value = serde_json::from_str(&pair.verifying).unwrap();
    assert_eq!(
        question,
        serde_json::json!({"client_id": "the-client", "secret": SECRET, "key_id": key["kid"]})
    );
}

#[tokio::test]
async fn without_its_key_a_delivery_is_503_and_accepted_once_the_key_is_there() {
    let pair = plaid_pair();
    let site = KeySite::plaid(&pair, StatusCode::INTERNAL_SERVER_ERROR).await;
    let delivery = plaid_delivery(&pair, 1);
    let refused = site.deliver(&delivery).await;
    refused.assert_problem(503, "key_unavailable");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    site.answers(StatusCode::OK, plaid_answer(&pair));
    assert_eq!(site.deliver(&delivery).await.json()["status"], "accepted");
    // Plaid has no ids: a repeated delivery is a separate event.
    assert_eq!(site.deliver(&delivery).await.json()["status"], "accepted");
}

#[tokio::test]
async fn no_answer_that_is_no_key_is_taken_for_one_or_kept() {
    let pair = plaid_pair();
    let mut site = KeySite::plaid(&pair, StatusCode::OK).await;
    let delivery = plaid_delivery(&pair, 1);
    for (status, body) in [
        (StatusCode::OK, "<html>busy</html>".to_owned()),
        (StatusCode::OK, String::new()),
        (StatusCode::FOUND, plaid_answer(&pair)),
        (
            StatusCode::BAD_REQUEST,
            "{\"error_code\":\"INVALID_API_KEYS\"}".to_owned(),
        ),
        (
            StatusCode::OK,
            format!("{}{}", plaid_answer(&pair), " ".repeat(70_000)),
        ),
    ] {
        site.answers(status, body);
        site.deliver(&delivery)
            .await
            .assert_problem(503, "key_unavailable");
    }
    assert_eq!(site.keys.rest().len(), 5);
    site.answers(StatusCode::OK, plaid_answer(&pair));
    assert_eq!(site.deliver(&delivery).await.status, 200);
}

#[tokio::test]
async fn a_key_that_the_sender_does_not_have_is_401_and_asked_for_once() {
    let pair = plaid_pair();
    for (status, body) in [
        (StatusCode::NOT_FOUND, ""),
        (
            StatusCode::BAD_REQUEST,
            "{\"error_code\":\"INVALID_WEBHOOK_VERIFICATION_KEY_ID\"}",
        ),
    ] {
        let mut site = KeySite::plaid(&pair, status).await;
        site.answers(status, body);
        for item in 0..3 {
            site.deliver(&plaid_delivery(&pair, item))
                .await
                .assert_problem(401, "signature_invalid");
        }
        assert_eq!(site.keys.rest().len(), 1);
    }
}

#[tokio::test]
async fn a_message_that_names_any_other_host_or_file_is_401_and_nobody_is_called() {
    let mut site = KeySite::start(SNS, StatusCode::OK, "").await;
    for url in [
        "https://evil.example/x.pem",
        "https://sns.us-east-1.amazonaws.com.evil.example/x.pem",
        "https://sns.us-east-1.amazonaws.com@127.0.0.1/x.pem",
        "http://sns.us-east-1.amazonaws.com/x.pem",
        "https://169.254.169.254/x.pem",
        "https://sns.us-east-1.amazonaws.com/x.pem",
    ] {
        let body = format!(
            "{{\"Type\":\"Notification\",\"MessageId\":\"1\",\"TopicArn\":\"{TOPIC}\",\"Message\":\"m\",\"Timestamp\":\
             \"2026-01-01T00:00:00Z\",\"SignatureVersion\":\"2\",\"Signature\":\"AAAA\",\"SigningCertURL\":\"{url}\"}}"
        );
        let reply = site.site.post("/in/sns", &[], body.as_bytes()).await;
        reply.assert_problem(401, "signature_invalid");
    }
    assert!(site.keys.rest().is_empty());
}

#[tokio::test]
async fn a_subscription_is_confirmed_by_a_call_and_its_messages_are_accepted_with_one_certificate() {
    let (signer, certificate) = sns();
    let mut site = KeySite::start(SNS, StatusCode::OK, certificate).await;
    let confirm = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=t";
    let subscription = serde_json::json!({
        "Type": "SubscriptionConfirmation", "MessageId": "m-1", "Token": "t", "Message": "Confirm it",
        "SubscribeURL": confirm, "SigningCertURL": format!("https://sns.us-east-1.amazonaws.com/{CERTIFICATE}"),
    });
    let notification = serde_json::json!({
        "Type": "Notification", "MessageId": "m-2", "Message": "Hello\nthere",
        "SigningCertURL": format!("https://sns.us-east-1.amazonaws.com/{CERTIFICATE}"),
    });
    let deliver = async |message: &serde_json::Value| {
        let delivery = signer.sign(Delivery {
            timestamp: now(),
            body: message.to_string().into_bytes(),
            ..Delivery::default()
        });
        site.site.post("/in/sns", &delivery.headers, &delivery.body).await
    };
    assert_eq!(deliver(&subscription).await.status, 200);
    for status in ["accepted", "duplicate"] {
        let reply = deliver(&notification).await;
        assert_eq!(reply.json()["status"], status, "{reply:?}");
        assert_eq!(reply.json()["event_id"], "m-2");
    }
    let asked: Vec<String> = site.keys.rest().into_iter().map(|seen| seen.path).collect();
    let host = "/sns.us-east-1.amazonaws.com/";
    let expected = [CERTIFICATE, "?Action=ConfirmSubscription&Token=t"].map(|path| format!("{host}{path}"));
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn a_key_that_is_used_is_fetched_again_before_it_expires_and_nobody_waits_for_it() {
    let mut day = SnsDay::start().await;
    day.accepts("m-1").await;
    assert_eq!(day.keys.keys.rest().len(), 1);
    day.clock.advance(HOUR * 5 / 6);
    day.accepts("m-2").await;
    assert!(day.keys.keys.next().await.path.ends_with(CERTIFICATE));
}

#[tokio::test]
async fn a_key_is_used_for_a_day_while_its_senders_server_fails_and_no_longer() {
    let day = SnsDay::start().await;
    day.accepts("m-1").await;
    day.keys.answers(StatusCode::INTERNAL_SERVER_ERROR, "");
    day.clock.advance(HOUR * 23);
    day.accepts("m-2").await;
    day.clock.advance(HOUR);
    day.deliver("m-3").await.assert_problem(503, "key_unavailable");
    day.keys.answers(StatusCode::OK, day.certificate.clone());
    day.accepts("m-3").await;
}

#[tokio::test]
async fn after_a_reload_a_key_is_fetched_again_and_used_if_that_fails() {
    let mut day = SnsDay::start().await;
    day.accepts("m-1").await;
    day.keys.answers(StatusCode::INTERNAL_SERVER_ERROR, "");
    day.keys.site.reload(SNS).await;
    day.accepts("m-2").await;
    assert_eq!(day.keys.keys.rest().len(), 2);
}

#[tokio::test]
async fn a_key_that_its_sender_withdrew_is_not_used_any_more() {
    let day = SnsDay::start().await;
    day.accepts("m-1").await;
    day.keys.answers(StatusCode::NOT_FOUND, "");
    day.clock.advance(HOUR);
    day.deliver("m-2").await.assert_problem(401, "signature_invalid");
}
