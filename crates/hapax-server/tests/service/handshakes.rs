//! Handshakes that providers require before they deliver anything, through the real listener. Each is made twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use hapax_server::{Server, Tuning};
use hapax_testkit::wire::{self, request};
use hapax_testkit::{HttpResponse, Sink, Wire};
use hapax_verify::sign::{Delivery, ProviderSigner, generate_secret};
use hapax_verify::{Verifier, catalogue};

use super::site::{STRIPE, Site, configuration, now, stripe_headers};

async fn ask(site: &Site, method: &str, path: &str, headers: &[(String, String)]) -> HttpResponse {
    let mut wire = Wire::open(site.server.ingest_address()).await;
    wire.ask(method, path, headers, b"").await
}

#[tokio::test]
async fn a_challenge_in_the_query_is_echoed_as_text_without_a_public_url() {
    let more = "[sources.dropbox]\nprovider = \"dropbox\"\nsecrets = [\"env:SECRET\"]\n";
    let site = Site::start(more).await;
    for _ in 0..2 {
        let reply = ask(&site, "GET", "/in/dropbox?challenge=abc%3C123", &[]).await;
        assert_eq!((reply.status, reply.text().as_str()), (200, "abc<123"));
        assert_eq!(reply.header("content-type"), Some("text/plain"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    }
    let long = format!("/in/dropbox?challenge={}", "a".repeat(2000));
    ask(&site, "GET", &long, &[])
        .await
        .assert_problem(403, "handshake_refused");
    ask(&site, "GET", "/in/dropbox", &[])
        .await
        .assert_problem(405, "method_not_allowed");
}

#[tokio::test]
async fn a_look_at_the_url_is_answered_only_where_the_sender_looks() {
    let more = "[sources.intercom]\nprovider = \"intercom\"\nsecrets = [\"env:SECRET\"]\n";
    let site = Site::start(more).await;
    for _ in 0..2 {
        assert_eq!(look(&site, "/in/intercom", Vec::new()).await, "200");
    }
    // A signature does not turn it into a delivery.
    assert_eq!(look(&site, "/in/stripe", stripe_headers(b"")).await, "405");
}

/// The status of a HEAD request, whose response never has a body.
async fn look(site: &Site, path: &str, mut headers: Vec<(String, String)>) -> String {
    headers.push(("connection".to_owned(), "close".to_owned()));
    let mut wire = Wire::open(site.server.ingest_address()).await;
    wire.say(&request("HEAD", path, &headers, b"")).await;
    let answer = wire.hear_out().await;
    answer.split(' ').nth(1).unwrap().to_owned()
}

/// An SNS message that asks to confirm a subscription, and a verifier for it.
fn sns_confirmation() -> (Delivery, Verifier) {
    let sns = catalogue::get("aws-sns").unwrap();
    let (pair, options) = (generate_secret(sns, &[7; 32]), sns.sample_options());
    let body = r#"{"Type":"SubscriptionConfirmation","MessageId":"m","Token":"t","Message":"You have chosen",
        "SubscribeURL":"https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=t",
        "SigningCertURL":"https://sns.us-east-1.amazonaws.com/x.pem"}"#;
    let delivery = Delivery {
        timestamp: now(),
        body: body.as_bytes().to_vec(),
        ..Delivery::default()
    };
    let signer = ProviderSigner::new(sns, &pair.signing, &options).unwrap();
    let verifier = Verifier::new(&sns.recipe(), &[pair.verifying], &options).unwrap();
    (signer.sign(delivery), verifier)
}

#[tokio::test]
async fn a_subscription_is_confirmed_by_calling_its_url_before_it_is_answered() {
    let status = Arc::new(AtomicU16::new(503));
    let answers = Arc::clone(&status);
    let mut sns = Sink::answering(move |_| {
        let response = http::Response::builder().status(answers.load(Ordering::Relaxed));
        response.body(http_body_util::Full::default()).unwrap()
    })
    .await;
    let (delivery, verifier) = sns_confirmation();
    let dir = tempfile::tempdir().unwrap();
    let mut config = configuration(dir.path(), STRIPE);
    config.sources.get_mut("stripe").unwrap().verifier = Arc::new(verifier);
    config.server.key_server = Some(format!("http://{}", sns.address).parse().unwrap());
    let server = Server::start(config, Tuning::default()).await.unwrap();
    let deliver = async || {
        let address = server.ingest_address();
        wire::post(address, "/in/stripe", &delivery.headers, &delivery.body).await
    };

    deliver().await.assert_problem(503, "confirmation_failed");
    status.store(200, Ordering::Relaxed);
    for _ in 0..2 {
        let reply = deliver().await;
        assert_eq!((reply.status, reply.text().as_str()), (200, ""), "{reply:?}");
    }
    let called = sns.rest();
    assert_eq!(called.len(), 3);
    let path = "/sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=t";
    assert!(
        called.iter().all(|call| call.path == path),
        "{:?}",
        called[0].path
    );
    server.stop().await;
}
