//! Ids that are missing, empty, long, or not text at all. Every delivery is made twice.

use hapax_testkit::{HttpResponse, Wire};

use super::site::{INHOUSE, SECRET, Site, admin, inhouse_headers, signed, stripe_headers};

async fn stripe_body(site: &Site, body: &str) -> HttpResponse {
    let first = site
        .post("/in/stripe", &stripe_headers(body.as_bytes()), body.as_bytes())
        .await;
    let second = site
        .post("/in/stripe", &stripe_headers(body.as_bytes()), body.as_bytes())
        .await;
    if first.status == 200 {
        assert_eq!(second.json()["status"], "duplicate");
        assert_eq!(second.json()["event_id"], first.json()["event_id"]);
    } else {
        assert_eq!((first.status, &first.body), (second.status, &second.body));
    }
    first
}

#[tokio::test]
async fn without_an_id_nothing_is_accepted() {
    let site = Site::start("").await;
    for body in [
        "{}",
        r#"{"id":null}"#,
        r#"{"id":{}}"#,
        r#"{"id":""}"#,
        r#"{"id":"a\u0000b"}"#,
    ] {
        stripe_body(&site, body)
            .await
            .assert_problem(400, "event_id_missing");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_for_its_id_is_malformed() {
    let site = Site::start("").await;
    for body in ["", "{", "payload=1", "{\"id\":\"a\"}x"] {
        stripe_body(&site, body)
            .await
            .assert_problem(400, "malformed_body");
    }
}

#[tokio::test]
async fn a_long_id_is_replaced_by_its_hash_visibly() {
    let site = Site::start("").await;
    let long = "x".repeat(300);
    let reply = stripe_body(&site, &format!("{{\"id\":\"{long}\"}}")).await;
    let event_id = reply.json()["event_id"].as_str().unwrap().to_owned();
    assert!(
        event_id.starts_with("sha256:") && event_id.len() == 7 + 64,
        "{event_id}"
    );
    let other = stripe_body(&site, &format!("{{\"id\":\"{long}y\"}}")).await;
    assert_ne!(other.json()["event_id"], event_id);
}

#[tokio::test]
async fn any_text_is_an_id_and_reads_back_as_json() {
    let site = Site::start("").await;
    for id in ["\\\"quoted\\\"", "back\\\\slash", "ünï", "a:b", " spaces "] {
        let reply = stripe_body(&site, &format!("{{\"id\":\"{id}\"}}")).await;
        assert_eq!(reply.json()["status"], "accepted", "{id}");
    }
}

#[tokio::test]
async fn a_header_that_is_no_utf8_is_no_id() {
    let site = Site::start(INHOUSE).await;
    let mut signature = String::new();
    for (name, value) in inhouse_headers(b"x") {
        signature = format!("{name}: {value}\r\n");
    }
    for _ in 0..2 {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(b"POST /in/inhouse HTTP/1.1\r\nhost: t\r\ncontent-length: 1\r\nx-event-id: a\xff\r\n")
            .await;
        wire.say(signature.as_bytes()).await;
        wire.say(b"\r\nx").await;
        wire.hear().await.assert_problem(400, "event_id_missing");
    }
}

#[tokio::test]
async fn a_sender_without_ids_is_not_deduplicated_and_its_events_say_so() {
    let site = Site::start("[sources.dropbox]\nprovider = \"dropbox\"\nsecrets = [\"env:SECRET\"]\n").await;
    let body = br#"{"list_folder":{"accounts":["dbid:1"]},"delta":{"users":[1]}}"#;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let reply = site
            .post("/in/dropbox", &signed("dropbox", SECRET, body), body)
            .await
            .json();
        assert_eq!(reply["status"], "accepted");
        assert!(
            reply["event_id"].as_str().unwrap().starts_with("generated:"),
            "{reply}"
        );
        ids.push(reply["id"].as_str().unwrap().to_owned());
    }
    assert_ne!(ids[0], ids[1]);
    for id in ids {
        let event = admin(&site.server, "GET", &format!("/api/v1/events/{id}"), "")
            .await
            .json();
        assert_eq!(event["id_origin"], "generated");
        let sentence = event["identity"]["sentence"].as_str().unwrap();
        assert!(sentence.contains("The event is not deduplicated"), "{sentence}");
    }
    let sources = admin(&site.server, "GET", "/api/v1/sources", "").await.json();
    assert_eq!(sources["sources"][0]["id_class"], "not-deduplicated");
}
