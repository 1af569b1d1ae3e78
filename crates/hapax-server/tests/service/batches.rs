//! Requests that carry several events, and responses that a provider insists on. Every batch is delivered twice.

use hapax_testkit::{HttpResponse, Sink, wire};
use serde_json::Value;

use super::site::{SECRET, Site, admin, signed};

fn events(items: &[&str]) -> Vec<u8> {
    format!("{{\"events\":[{}]}}", items.join(",")).into_bytes()
}

fn payment(id: &str) -> String {
    format!(r#"{{"id":"{id}","resource_type":"payments","action":"confirmed"}}"#)
}

const WITHOUT_ID: &str = r#"{"resource_type":"payments","action":"lost"}"#;

async fn site(sink: &Sink) -> Site {
    let more = format!(
        "[sources.gocardless]\nprovider = \"gocardless\"\nsecrets = [\"env:SECRET\"]\ndeliver_to = [\"app\"]\n\
         [destinations.app]\nkind = \"http\"\nurl = \"{}\"\n",
        sink.url()
    );
    Site::start(&more).await
}

async fn deliver(site: &Site, body: &[u8]) -> HttpResponse {
    site.post("/in/gocardless", &signed("gocardless", SECRET, body), body)
        .await
}

fn counts(reply: &HttpResponse) -> [Value; 3] {
    let json = reply.json();
    ["accepted", "duplicate", "conflict"].map(|name| json[name].clone())
}

#[tokio::test]
async fn a_batch_that_overlaps_an_earlier_one_adds_only_what_is_new() {
    let mut sink = Sink::start().await;
    let site = site(&sink).await;
    let first = events(&[&payment("EV1"), &payment("EV2")]);
    let second = events(&[&payment("EV2"), &payment("EV3")]);
    assert_eq!(counts(&deliver(&site, &first).await), [2, 0, 0].map(Value::from));
    assert_eq!(counts(&deliver(&site, &first).await), [0, 2, 0].map(Value::from));
    let overlapping = deliver(&site, &second).await;
    assert_eq!(counts(&overlapping), [1, 1, 0].map(Value::from));
    assert!(overlapping.json().get("quarantined").is_none());
    let mut seen = Vec::new();
    for _ in 0..3 {
        let request = sink.next().await;
        assert!(request.headers.contains_key("hapax-batch-id"));
        seen.push((
            request.headers["hapax-event-id"].to_str().unwrap().to_owned(),
            String::from_utf8(request.body.to_vec()).unwrap(),
        ));
    }
    seen.sort();
    let expected = ["EV1", "EV2", "EV3"].map(|id| (id.to_owned(), payment(id)));
    assert_eq!(seen, expected);
    site.server.stop().await;
    assert!(sink.rest().is_empty());
}

#[tokio::test]
async fn an_item_without_an_id_is_kept_aside_until_an_operator_sends_it_somewhere() {
    let mut sink = Sink::start().await;
    let site = site(&sink).await;
    let batch = events(&[&payment("EV1"), WITHOUT_ID]);
    let first = deliver(&site, &batch).await;
    assert_eq!(counts(&first), [1, 0, 0].map(Value::from));
    assert_eq!(first.json()["quarantined"], 1);
    assert_eq!(first.json()["events"][1]["status"], "quarantined");
    let again = deliver(&site, &batch).await;
    assert_eq!(counts(&again), [0, 2, 0].map(Value::from));
    assert_eq!(sink.next().await.headers["hapax-event-id"], "EV1");

    let listed = admin(&site.server, "GET", "/api/v1/events?status=quarantined", "")
        .await
        .json();
    assert_eq!(listed["events"].as_array().unwrap().len(), 1, "{listed}");
    let id = listed["events"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(first.json()["events"][1]["id"], id.as_str());
    let metrics = admin(&site.server, "GET", "/metrics", "").await;
    let counted = "hapax_received_total{source=\"gocardless\",result=\"quarantined\"} 1";
    assert!(metrics.text().contains(counted), "{}", metrics.text());

    let released = admin(
        &site.server,
        "POST",
        &format!("/api/v1/events/{id}/replay"),
        r#"{"to":"app"}"#,
    )
    .await;
    assert_eq!(released.status, 200, "{}", released.text());
    assert_eq!(&sink.next().await.body[..], WITHOUT_ID.as_bytes());
    site.server.stop().await;
    assert!(sink.rest().is_empty());
}

#[tokio::test]
async fn a_sender_that_wants_a_status_of_its_own_for_a_wrong_signature_gets_it() {
    let sink = Sink::start().await;
    let site = site(&sink).await;
    let body = events(&[&payment("EV1")]);
    for _ in 0..2 {
        let headers = signed("gocardless", "wrong", &body);
        let reply = site.post("/in/gocardless", &headers, &body).await;
        assert_eq!(reply.status, 498);
    }
}

#[tokio::test]
async fn a_sender_that_wants_empty_answers_gets_them() {
    let more = "[sources.xero]\nprovider = \"xero\"\nsecrets = [\"env:SECRET\"]\n";
    let site = Site::start(more).await;
    let intent = br#"{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"E"}"#;
    let event = br#"{"events":[{"tenantId":"t","resourceId":"r","eventType":"UPDATE","eventCategory":"CONTACT","eventDateUtc":"2026-01-01T00:00:00"}]}"#;
    for body in [intent.as_slice(), event, event] {
        let good = site.post("/in/xero", &signed("xero", SECRET, body), body).await;
        assert_eq!((good.status, good.text().as_str()), (200, ""));
        let bad = site.post("/in/xero", &signed("xero", "wrong", body), body).await;
        assert_eq!((bad.status, bad.text().as_str()), (401, ""));
    }
    let reply = wire::post(site.server.ingest_address(), "/in/xero", &[], intent).await;
    assert_eq!((reply.status, reply.text().as_str()), (401, ""));
}
