//! `redact`: fields that are never displayed, while destinations get the original.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;

use hapax_testkit::{Connection, HttpResponse, Sender, Service, Setup, Sink};

const PATIENCE: Duration = Duration::from_secs(20);
const ADMIN: &str = "the-admin-token-of-this-test";
const READER: &str = "the-token-of-a-mere-reader";
const EMAIL: &str = "ada-7f2c@example.com";

#[tokio::test(flavor = "multi_thread")]
async fn a_redacted_field_is_shown_nowhere_and_reaches_the_destination() {
    let sink = Sink::start().await;
    let service = Setup::new()
        .server(&format!(
            "admin_token = \"{ADMIN}\"\ntokens = [{{ name = \"reader\", token = \"{READER}\", role = \"read\" }}]"
        ))
        .source(
            "stripe",
            "stripe",
            "deliver_to = [\"app\"]\nredact = [\"/data/object/email\", \"/data/object/lines/*/name\"]",
        )
        .http("app", &sink.url(), "")
        .start()
        .await;
    let object = json!({ "email": EMAIL, "lines": [{ "name": EMAIL, "price": 7 }] });
    let sender = Sender::of("stripe");
    let delivery = sender.stripe_event("evt_1", "customer.updated", &object);
    let id = service.deliver_twice(&delivery).await;
    let other = json!({ "email": EMAIL, "lines": [] });
    let conflict = sender.stripe_event("evt_1", "customer.updated", &other);
    service.deliver(&conflict).await.assert_durable("conflict");
    sink.until_received(1, PATIENCE).await;
    assert_eq!(
        sink.received()[0].body,
        delivery.body,
        "the destination gets the original"
    );

    let event = format!("/api/v1/events/{id}");
    for token in [READER, ADMIN] {
        let shown = get(&service, token, &event).await;
        let hash = shown.json()["conflicts"][0]["body_sha256"]
            .as_str()
            .unwrap()
            .to_owned();
        let paths = [
            format!("{event}/payload"),
            format!("{event}/export?as=python"),
            format!("{event}/conflicts/{hash}/payload"),
            format!("{event}/conflicts/{hash}/diff"),
        ];
        for path in &paths {
            let answer = get(&service, token, path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            assert!(!answer.text().contains(EMAIL), "{path}: {}", answer.text());
        }
        let payload = get(&service, token, &paths[0]).await.json();
        assert_eq!(payload["data"]["object"]["email"], "***");
        assert_eq!(
            payload["data"]["object"]["lines"],
            json!([{ "name": "***", "price": 7 }])
        );
    }
    let search = format!("/api/v1/events?q=body:/data/object/email%3D{EMAIL}");
    get(&service, READER, &search)
        .await
        .assert_problem(403, "field_redacted");
    let found = get(&service, ADMIN, &search).await.json();
    assert_eq!(found["events"][0]["id"], id.as_str(), "{found}");
}

async fn get(service: &Service, token: &str, path: &str) -> HttpResponse {
    let request = Request::get(path)
        .header("host", service.setup.admin.to_string())
        .header("authorization", format!("Bearer {token}"))
        .body(Full::new(Bytes::new()))
        .unwrap();
    Connection::to(service.setup.admin).send(request).await.unwrap()
}
