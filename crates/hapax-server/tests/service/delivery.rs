//! From a webhook to its destination, through the whole service. Every delivery is made twice and arrives once.

use hapax_testkit::Sink;
use hapax_verify::{Options, Request, Verification, Verifier, catalogue};

use super::site::{SECRET, Site, now, stripe_headers};

const BODY: &[u8] = b"{\"id\":\"evt_1\",  \"type\":\"invoice.paid\", \"note\":\"\xc3\xa9\"}\n";

fn destination(url: &str, more: &str) -> String {
    format!(
        "[sources.shop]\nprovider = \"stripe\"\nsecrets = [\"env:SECRET\"]\ndeliver_to = [\"app\"]\n\
         [destinations.app]\nkind = \"http\"\nurl = \"{url}\"\n{more}"
    )
}

#[tokio::test]
async fn an_event_arrives_once_byte_for_byte_with_our_headers_and_signature() {
    let mut sink = Sink::start().await;
    let site = Site::start(&destination(&sink.url(), "secret = \"env:SECRET\"\n")).await;
    let mut headers = stripe_headers(BODY);
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    headers.push(("cookie".to_owned(), "a=b".to_owned()));
    let reply = site.post("/in/shop", &headers, BODY).await;
    assert_eq!(reply.json()["status"], "accepted");
    assert_eq!(
        site.post("/in/shop", &headers, BODY).await.json()["status"],
        "duplicate"
    );
    let seen = sink.next().await;
    assert_eq!(seen.path, "/hook");
    assert_eq!(&seen.body[..], BODY);
    assert_eq!(seen.headers["content-type"], "application/json");
    assert_eq!(seen.headers["host"], sink.address.to_string());
    assert_eq!(seen.headers["stripe-signature"].to_str().unwrap(), headers[0].1);
    assert_eq!(seen.headers["hapax-source"], "shop");
    assert_eq!(seen.headers["hapax-event-id"], "evt_1");
    assert_eq!(seen.headers["hapax-event-type"], "invoice.paid");
    assert_eq!(seen.headers["hapax-attempt"], "1");
    assert!(seen.headers.contains_key("hapax-received-at") && seen.headers.contains_key("traceparent"));
    assert!(!seen.headers.contains_key("cookie"));
    let key =
        hapax_core::Identity::new("shop", "evt_1").idempotency_key(hapax_core::Generation(0), &"app".into());
    assert_eq!(seen.headers["idempotency-key"], key.to_string());
    assert_eq!(seen.headers["webhook-id"], key.to_string());
    let standard = catalogue::get("standard-webhooks").unwrap();
    let verifier = Verifier::new(&standard.recipe(), &[SECRET], &Options::default()).unwrap();
    let verification = verifier.verify(&Request::new(&seen.headers, &seen.body, now()));
    assert!(matches!(verification.unwrap(), Verification::Events(_)));
    site.server.stop().await;
    assert!(sink.rest().is_empty());
}

#[tokio::test]
async fn a_failed_attempt_is_made_again_under_the_same_key() {
    let mut sink = Sink::answering(|seen| {
        let first = seen.headers["hapax-attempt"] == "1";
        let status = if first { 500 } else { 204 };
        http::Response::builder()
            .status(status)
            .body(http_body_util::Full::default())
            .unwrap()
    })
    .await;
    let backoff = "backoff = { first = \"1ms\", cap = \"1ms\" }\n";
    let site = Site::start(&destination(&sink.url(), backoff)).await;
    for _ in 0..2 {
        assert_eq!(
            site.post("/in/shop", &stripe_headers(BODY), BODY).await.status,
            200
        );
    }
    let (first, second) = (sink.next().await, sink.next().await);
    assert_eq!(first.headers["hapax-attempt"], "1");
    assert_eq!(second.headers["hapax-attempt"], "2");
    assert_eq!(
        first.headers["idempotency-key"],
        second.headers["idempotency-key"]
    );
    assert_eq!(first.body, second.body);
    site.server.stop().await;
    assert!(sink.rest().is_empty());
}
