//! The ingest port faces the world: it serves nothing of the admin port.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;

use hapax_testkit::{Connection, Sender, Setup};

/// The document lists every path of the API.
const API: &str = include_str!("../../../../../docs/reference/openapi.json");

/// Pages, forms, assets and probes.
const OTHERS: [&str; 30] = [
    "/",
    "/events",
    "/events/live",
    "/events/1",
    "/events/1/payload",
    "/events/1/copy",
    "/events/1/replay",
    "/events/1/conflicts/1/release",
    "/ledger/forget",
    "/dead",
    "/dead/replay",
    "/dead/replay/start",
    "/dead/discard",
    "/dead/restore",
    "/replays",
    "/replays/1/cancel",
    "/sources",
    "/outbox",
    "/duplicates",
    "/destinations",
    "/destinations/app/pause",
    "/audit",
    "/searches",
    "/login",
    "/logout",
    "/theme",
    "/assets/hapax.js",
    "/docs/",
    "/api",
    "/metrics",
];

#[tokio::test]
async fn the_ingest_port_answers_nothing_of_the_admin_port() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    let document: serde_json::Value = serde_json::from_str(API).unwrap();
    let of_api: Vec<&str> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert!(of_api.len() > 20, "{of_api:?}");
    let mut connection = Connection::to(service.address());
    for path in OTHERS.into_iter().chain(of_api).chain(["/healthz", "/readyz"]) {
        let path = path.replace(['{', '}'], "");
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let request = Request::builder()
                .method(&method)
                .uri(&path)
                .header("host", service.address().to_string())
                .body(Full::new(Bytes::new()))
                .unwrap();
            let answer = connection.send(request).await.unwrap();
            assert!(
                matches!(answer.status, 404 | 405),
                "{method} {path}: {}",
                answer.status
            );
            assert!(!answer.text().contains("<html"), "{method} {path}");
        }
    }
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}
