//! What senders want answered before they deliver anything, through the real listener. Each asks twice.

use super::site::{Site, stripe_headers};
use super::wire::{Reply, Wire, request};

async fn ask(site: &Site, method: &str, path: &str, headers: &[(String, String)]) -> Reply {
    let mut wire = Wire::open(site.server.ingest_address()).await;
    wire.say(&request(method, path, headers, b"")).await;
    wire.hear().await
}

#[tokio::test]
async fn a_challenge_in_the_query_is_echoed_as_text_without_a_public_url() {
    let more = "[sources.dropbox]\nprovider = \"dropbox\"\nsecrets = [\"env:SECRET\"]\n";
    let site = Site::start(more).await;
    for _ in 0..2 {
        let reply = ask(&site, "GET", "/in/dropbox?challenge=abc%3C123", &[]).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, "abc<123"));
        assert_eq!(reply.header("content-type").as_deref(), Some("text/plain"));
        assert_eq!(reply.header("x-content-type-options").as_deref(), Some("nosniff"));
    }
    let long = format!("/in/dropbox?challenge={}", "a".repeat(2000));
    ask(&site, "GET", &long, &[])
        .await
        .is_problem(403, "handshake_refused");
    ask(&site, "GET", "/in/dropbox", &[])
        .await
        .is_problem(405, "method_not_allowed");
}

#[tokio::test]
async fn a_look_at_the_url_is_answered_only_where_the_sender_looks() {
    let more = "[sources.intercom]\nprovider = \"intercom\"\nsecrets = [\"env:SECRET\"]\n";
    let site = Site::start(more).await;
    for _ in 0..2 {
        assert_eq!(look(&site, "/in/intercom", Vec::new()).await, "200");
    }
    // A signature does not make a delivery of it.
    assert_eq!(look(&site, "/in/stripe", stripe_headers(b"")).await, "405");
}

/// The status of a HEAD, which never has a body.
async fn look(site: &Site, path: &str, mut headers: Vec<(String, String)>) -> String {
    headers.push(("connection".to_owned(), "close".to_owned()));
    let mut wire = Wire::open(site.server.ingest_address()).await;
    wire.say(&request("HEAD", path, &headers, b"")).await;
    let answer = String::from_utf8(wire.hear_out().await).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}
