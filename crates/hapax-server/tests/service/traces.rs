//! Traces, as an OTLP receiver sees them. Every event is delivered twice.

mod collector;
mod trouble;

use hapax_server::{Server, Tuning};
use hapax_telemetry::traces::context::Parent;
use hapax_testkit::Sink;
use http::Response;
use http_body_util::Full;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

use super::site::{SECRET, Site, configuration, signed, stripe_headers};
use collector::{Collector, text};

const SENDER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const UNSAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// A source `shop` whose events go to `url`, with traces to the collector.
fn traced(collector: &str, url: &str, more: &str) -> String {
    format!(
        "[sources.shop]\nprovider = \"stripe\"\nsecrets = [\"env:SECRET\"]\ndeliver_to = [\"app\"]\n\
         [destinations.app]\nkind = \"http\"\nurl = \"{url}?token=hunter2\"\nmax_attempts = 100\nbackoff = {{ first = \"100ms\", cap = \"100ms\" }}\n\
         [traces]\nendpoint = \"{collector}\"\n{more}"
    )
}

/// The same event twice, with these headers in addition to its signature.
async fn deliver_twice(site: &Site, id: &str, more: &[(&str, &str)]) -> String {
    let body = format!(r#"{{"id":"{id}","type":"invoice.paid","note":"hunter2"}}"#);
    let mut headers = stripe_headers(body.as_bytes());
    headers.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    let first = site.post("/in/shop?key=hunter2", &headers, body.as_bytes()).await;
    let second = site.post("/in/shop?key=hunter2", &headers, body.as_bytes()).await;
    assert_eq!(second.json()["status"], "duplicate", "{second:?}");
    first.json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn one_event_is_one_trace_from_the_request_to_the_destinations_own_span() {
    let mut collector = Collector::start().await;
    let mut app = Sink::start().await;
    let site = Site::start(&traced(
        &collector.url(),
        &app.url(),
        "service_name = \"hooks\"\n",
    ))
    .await;
    let id = deliver_twice(&site, "evt_1", &[]).await;
    let called = app.next().await;
    let parent = Parent::parse(called.headers["traceparent"].as_bytes()).unwrap();
    collector.export_as_the_app("charge", parent).await;
    let seen = collector
        .until(|seen| seen.named("request").len() == 2 && seen.has(["accept", "attempt", "charge"]))
        .await;

    let destination = seen.one("charge");
    let attempt = seen.parent_of(destination);
    let accept = seen.parent_of(attempt);
    let request = seen.parent_of(accept);
    assert_eq!(
        [&attempt.name, &accept.name, &request.name],
        ["attempt", "accept", "request"]
    );
    assert_eq!(
        [attempt.kind(), accept.kind(), request.kind()],
        [SpanKind::Client, SpanKind::Internal, SpanKind::Server]
    );
    assert!(request.parent_span_id.is_empty());
    let trace = id.replace('-', "");
    for span in [request, accept, attempt, destination] {
        assert_eq!(hex::encode(&span.trace_id), trace, "{}", span.name);
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    }
    assert_eq!(text(accept, "hapax.event.id"), id);
    assert_eq!(text(accept, "hapax.event.sender_id"), "evt_1");
    assert_eq!(text(accept, "hapax.result"), "accepted");
    assert_eq!(text(request, "http.route"), "/in/{source}");
    assert_eq!(text(request, "http.response.status_code"), "200");
    assert_eq!(text(attempt, "http.response.status_code"), "200");
    assert_eq!(text(attempt, "server.address"), "127.0.0.1");
    assert_eq!(text(attempt, "hapax.destination"), "app");
    assert_eq!(text(attempt, "hapax.attempt"), "1");
    assert_eq!(seen.service(), "hooks");

    let copy = seen
        .named("accept")
        .into_iter()
        .find(|span| text(span, "hapax.result") == "duplicate");
    assert_eq!(text(copy.unwrap(), "hapax.event.duplicate_of"), id);
    assert!(
        !seen.raw_contains(b"hunter2"),
        "a body, a query or a URL's token was exported"
    );
    site.server.stop().await;
}

#[tokio::test]
async fn every_try_has_a_span_of_its_own_under_one_accept() {
    let mut collector = Collector::start().await;
    let mut app = Sink::answering(|seen| {
        let first = seen.headers["hapax-attempt"] == "1";
        Response::builder()
            .status(if first { 503 } else { 200 })
            .body(Full::default())
            .unwrap()
    })
    .await;
    let site = Site::start(&traced(&collector.url(), &app.url(), "")).await;
    deliver_twice(&site, "evt_1", &[]).await;
    let called = [app.next().await, app.next().await].map(|seen| {
        Parent::parse(seen.headers["traceparent"].as_bytes())
            .unwrap()
            .span
            .to_string()
    });
    let seen = collector
        .until(|seen| seen.named("attempt").len() == 2 && seen.has(["accept"]))
        .await;
    let attempts = seen.named("attempt");
    let spans: Vec<String> = attempts.iter().map(|span| hex::encode(&span.span_id)).collect();
    assert_eq!(spans, called);
    assert_ne!(spans[0], spans[1]);
    assert_eq!(attempts[0].parent_span_id, attempts[1].parent_span_id);
    assert_eq!(seen.parent_of(attempts[0]).name, "accept");
    assert_eq!(
        [
            text(attempts[0], "hapax.result"),
            text(attempts[1], "hapax.result")
        ],
        ["retry", "completed"]
    );
    assert_eq!(text(attempts[0], "error.type"), "status");
    let statuses = attempts
        .iter()
        .map(|span| span.status.as_ref().map_or(0, |status| status.code));
    assert_eq!(statuses.collect::<Vec<_>>(), [2, 0]);
    site.server.stop().await;
}

#[tokio::test]
async fn a_senders_trace_goes_on_and_its_span_is_the_parent() {
    let mut collector = Collector::start().await;
    let mut app = Sink::start().await;
    let site = Site::start(&traced(&collector.url(), &app.url(), "sample = 0\n")).await;
    deliver_twice(
        &site,
        "evt_1",
        &[("traceparent", SENDER), ("tracestate", "vendor=1")],
    )
    .await;
    let called = app.next().await;
    let sender = Parent::parse(SENDER.as_bytes()).unwrap();
    let passed = Parent::parse(called.headers["traceparent"].as_bytes()).unwrap();
    assert_eq!(passed.trace, sender.trace);
    assert!(passed.flags.is_sampled());
    assert_eq!(called.headers["tracestate"], "vendor=1");
    let seen = collector
        .until(|seen| seen.has(["request", "accept", "attempt"]))
        .await;
    let attempt = seen.one("attempt");
    assert_eq!(hex::encode(&attempt.span_id), passed.span.to_string());
    let request = seen.parent_of(seen.parent_of(attempt));
    assert_eq!(hex::encode(&request.parent_span_id), sender.span.to_string());
    site.server.stop().await;
}

#[tokio::test]
async fn what_is_not_sampled_is_not_exported_and_the_flag_says_so() {
    let mut collector = Collector::start().await;
    let mut app = Sink::start().await;
    let site = Site::start(&traced(&collector.url(), &app.url(), "sample = 0\n")).await;
    deliver_twice(&site, "evt_1", &[]).await;
    deliver_twice(&site, "evt_2", &[("traceparent", UNSAMPLED)]).await;
    for _ in 0..2 {
        let called = app.next().await;
        let passed = Parent::parse(called.headers["traceparent"].as_bytes()).unwrap();
        assert!(!passed.flags.is_sampled(), "{passed}");
    }
    deliver_twice(&site, "evt_3", &[("traceparent", SENDER)]).await;
    let seen = collector
        .until(|seen| seen.has(["request", "accept", "attempt"]))
        .await;
    site.server.stop().await;
    for span in seen.spans().chain(collector.rest().spans()) {
        assert_eq!(hex::encode(&span.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert!(
            ["", "evt_3"].contains(&text(span, "hapax.event.sender_id").as_str()),
            "{}",
            span.name
        );
    }
}

#[tokio::test]
async fn a_row_of_an_outbox_is_traced_from_its_writers_span() {
    let mut collector = Collector::start().await;
    let mut app = Sink::start().await;
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("app.db");
    let rows = rusqlite::Connection::open(&database).unwrap();
    rows.execute_batch(hapax::tables::SQLITE_OUTBOX).unwrap();
    let insert = format!(
        "INSERT INTO hapax_outbox (kind, target, headers, body, idempotency_key) \
         VALUES ('http', '{}?token=hunter2', '{{\"traceparent\": \"{SENDER}\"}}', 'hunter2', 'row-1');",
        app.url()
    );
    // Written twice, as by an application that was not sure.
    rows.execute_batch(&insert).unwrap();
    rows.execute_batch(&insert).unwrap();
    drop(rows);
    let more = format!(
        "[outbox.app]\nurl = \"sqlite:{}\"\npoll = \"10ms\"\nallow_targets = [\"127.0.0.1\"]\n",
        database.display()
    );
    let site = Site::start(&traced(&collector.url(), &app.url(), &more)).await;
    let called = app.next().await;
    let passed = Parent::parse(called.headers["traceparent"].as_bytes()).unwrap();
    let seen = collector
        .until(|seen| seen.has(["outbox", "accept", "attempt"]))
        .await;
    let attempt = seen.one("attempt");
    assert_eq!(hex::encode(&attempt.span_id), passed.span.to_string());
    assert_eq!(text(attempt, "server.port"), app.address.port().to_string());
    let outbox = seen.parent_of(seen.parent_of(attempt));
    assert_eq!(
        (outbox.name.as_str(), outbox.kind()),
        ("outbox", SpanKind::Consumer)
    );
    assert_eq!(hex::encode(&outbox.parent_span_id), "00f067aa0ba902b7");
    assert!(!seen.raw_contains(b"hunter2"));
    site.server.stop().await;
}

#[tokio::test]
async fn of_several_events_in_one_request_each_has_its_own_trace_with_a_link_to_the_request() {
    let mut collector = Collector::start().await;
    let more = format!(
        "[sources.gocardless]\nprovider = \"gocardless\"\nsecrets = [\"env:SECRET\"]\n\
         [traces]\nendpoint = \"{}\"\n",
        collector.url()
    );
    let site = Site::start(&more).await;
    let body =
        br#"{"events":[{"id":"EV1","resource_type":"payments"},{"id":"EV2","resource_type":"payments"}]}"#;
    let headers = signed("gocardless", SECRET, body);
    for _ in 0..2 {
        assert_eq!(site.post("/in/gocardless", &headers, body).await.status, 200);
    }
    let seen = collector
        .until(|seen| seen.named("accept").len() == 4 && seen.named("request").len() == 2)
        .await;
    let accepts = seen.named("accept");
    let (inside, linked): (Vec<_>, Vec<_>) = accepts.into_iter().partition(|span| span.links.is_empty());
    assert_eq!((inside.len(), linked.len()), (2, 2));
    for span in linked {
        assert!(span.parent_span_id.is_empty());
        let link = &span.links[0];
        assert_ne!(link.trace_id, span.trace_id);
        assert!(
            seen.named("request")
                .iter()
                .any(|request| request.span_id == link.span_id)
        );
    }
    site.server.stop().await;
}

#[tokio::test]
async fn an_attempt_of_another_process_names_the_accept_of_the_first() {
    let mut collector = Collector::start().await;
    let mut failing =
        Sink::answering(|_| Response::builder().status(500).body(Full::default()).unwrap()).await;
    let site = Site::start(&traced(&collector.url(), &failing.url(), "")).await;
    deliver_twice(&site, "evt_1", &[]).await;
    failing.next().await;
    let Site { server, dir } = site;
    server.stop().await;
    let before = collector.rest();
    let accept = before
        .named("accept")
        .into_iter()
        .find(|span| text(span, "hapax.result") == "accepted")
        .unwrap();

    let mut app = Sink::start().await;
    let text_of = traced(&collector.url(), &app.url(), "");
    let server = Server::start(configuration(dir.path(), &text_of), Tuning::default())
        .await
        .unwrap();
    app.next().await;
    let seen = collector
        .until(|seen| {
            seen.named("attempt")
                .iter()
                .any(|span| text(span, "hapax.result") == "completed")
        })
        .await;
    for attempt in seen.named("attempt") {
        assert_eq!(seen.parent_of(attempt).span_id, accept.span_id);
    }
    server.stop().await;
}
