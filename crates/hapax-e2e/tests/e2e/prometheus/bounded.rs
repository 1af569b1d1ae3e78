//! Nonsense from outside cannot grow the metrics.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;

use hapax_testkit::{Connection, Sender, Service, Setup, Sink, eventually};

/// The store's counts are cached for five seconds.
const LIMIT: Duration = Duration::from_secs(20);
/// Different names of each kind.
const FLOOD: usize = 200;

#[tokio::test]
async fn a_flood_of_unknown_names_paths_methods_and_destinations_adds_no_series() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    // The first of each kind may create the series of its reason, which comes from a fixed list.
    flood(&service, 1).await;
    // Waiting deliveries have series, too, as long as they wait; attempted ones get one.
    let before = eventually("the event is done and counted", LIMIT, async || {
        let series = series(&service).await;
        let is_done = series.contains("hapax_attempt_p95_seconds{destination=\"app\"}")
            && !series
                .iter()
                .any(|one| one.starts_with("hapax_oldest_pending_seconds"));
        is_done.then_some(series)
    })
    .await;
    flood(&service, FLOOD).await;
    assert_eq!(series(&service).await, before);
    let strangers = "hapax_received_total{source=\"(unknown)\",result=\"rejected\"} ";
    let text = service.admin("/metrics").await.text();
    let counted = text.lines().find_map(|line| line.strip_prefix(strangers));
    let counted: usize = counted.unwrap().parse().unwrap();
    assert!(counted > 2 * FLOOD, "the flood was counted: {counted}");
}

/// Every line without its value. An alert on the flood itself may fire, and has one series per source.
async fn series(service: &Service) -> BTreeSet<String> {
    let text = service.admin("/metrics").await.text();
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("hapax_alert_firing"));
    lines
        .map(|line| line.rsplit_once(' ').unwrap().0.to_owned())
        .collect()
}

async fn flood(service: &Service, times: usize) {
    let mut ingest = Connection::to(service.address());
    let mut admin = Connection::to(service.setup.admin);
    for number in 0..times {
        for (method, path) in [
            (Method::POST, format!("/in/unknown-{number}")),
            (Method::POST, format!("/odd/{number}?x={number}")),
            (
                Method::from_bytes(format!("ODD{number}").as_bytes()).unwrap(),
                "/in/stripe".to_owned(),
            ),
            (Method::POST, format!("/in/stripe?x={number}")),
        ] {
            ask(&mut ingest, method, &path).await;
        }
        for path in [
            format!("/api/v1/destinations/unknown-{number}/pause"),
            format!("/metrics/{number}"),
        ] {
            ask(&mut admin, Method::POST, &path).await;
        }
    }
}

async fn ask(connection: &mut Connection, method: Method, path: &str) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(b"{}")))
        .unwrap();
    let status = connection.send(request).await.unwrap().status;
    assert!((400..500).contains(&status), "{path}: {status}");
}
