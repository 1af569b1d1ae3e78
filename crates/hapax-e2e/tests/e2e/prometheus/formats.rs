//! Both formats of `/metrics`, by `Accept`.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use hapax_testkit::promtool::promtool;
use hapax_testkit::{Connection, HttpResponse, Sender, Service, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(20);
const OPEN_METRICS: &str =
    "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

#[tokio::test]
async fn open_metrics_has_exemplars_and_an_end_and_everybody_else_gets_what_promtool_takes() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    // The destination has the event a moment before the attempt is counted.
    let open = eventually("the attempt is counted", LIMIT, async || {
        let open = scrape(&service, OPEN_METRICS).await;
        let counted = "hapax_attempt_seconds_count{destination=\"app\"} 1";
        open.text().lines().any(|line| line == counted).then_some(open)
    })
    .await;
    assert_eq!(
        open.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let text = open.text();
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    let exemplar = format!(" # {{event_id=\"{id}\"}} ");
    for metric in ["ack_seconds", "attempt_seconds", "duplicate_age_seconds"] {
        let bucket = format!("hapax_{metric}_bucket{{");
        let has_one = |line: &str| line.starts_with(&bucket) && line.contains(&exemplar);
        assert!(text.lines().any(has_one), "{metric} in\n{text}");
    }

    for accept in ["text/plain;version=0.0.4", "*/*"] {
        let plain = scrape(&service, accept).await;
        assert_eq!(
            plain.header("content-type"),
            Some("text/plain; version=0.0.4; charset=utf-8")
        );
        let text = plain.text();
        assert!(!text.contains("# EOF") && !text.contains("event_id"), "{text}");
        assert_eq!(promtool(&["check", "metrics"], &text), "");
    }
}

async fn scrape(service: &Service, accept: &str) -> HttpResponse {
    let admin = service.setup.admin;
    let request = Request::get("/metrics")
        .header("host", admin.to_string())
        .header("accept", accept)
        .body(Full::new(Bytes::new()))
        .unwrap();
    Connection::to(admin).send(request).await.unwrap()
}
