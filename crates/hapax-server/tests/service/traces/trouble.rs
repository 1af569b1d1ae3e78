//! A receiver that hangs, refuses or fails: events are still accepted and delivered, and spans are counted.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hapax_testkit::{PATIENCE, Sink};
use http::Response;
use http_body_util::Full;
use tokio::net::TcpListener;

use super::super::site::{Site, admin};
use super::{deliver_twice, traced};

/// The value of `hapax_spans_total` with this result.
async fn spans(site: &Site, result: &str) -> u64 {
    let page = admin(&site.server, "GET", "/metrics", "").await.text();
    let name = format!("hapax_spans_total{{result=\"{result}\"}} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&name));
    line.unwrap_or_else(|| panic!("{name} in {page}"))
        .parse()
        .unwrap()
}

async fn until_spans(site: &Site, result: &str, least: u64) {
    let asked = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        while spans(site, result).await < least {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, asked)
        .await
        .expect("the spans are counted in time");
}

async fn accepts_go_on(collector: &str) -> (Site, Sink) {
    let mut app = Sink::start().await;
    let site = Site::start(&traced(collector, &app.url(), "timeout = \"200ms\"\n")).await;
    deliver_twice(&site, "evt_1", &[]).await;
    app.next().await;
    until_spans(&site, "failed", 1).await;
    deliver_twice(&site, "evt_2", &[]).await;
    app.next().await;
    assert_eq!(spans(&site, "exported").await, 0);
    (site, app)
}

async fn stops_soon(site: Site) {
    let began = Instant::now();
    site.server.stop().await;
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_receiver_that_never_answers_holds_nothing_up() {
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (site, _app) = accepts_go_on(&url(hanging.local_addr().unwrap())).await;
    stops_soon(site).await;
}

#[tokio::test]
async fn an_export_that_hangs_does_not_hold_up_a_stop() {
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let collector = url(hanging.local_addr().unwrap());
    let mut app = Sink::start().await;
    let site = Site::start(&traced(&collector, &app.url(), "timeout = \"60s\"\n")).await;
    deliver_twice(&site, "evt_1", &[]).await;
    app.next().await;
    // The export is in progress.
    let _held = hanging.accept().await.unwrap();
    stops_soon(site).await;
}

#[tokio::test]
async fn a_receiver_that_is_gone_holds_nothing_up() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let (site, _app) = accepts_go_on(&url(address)).await;
    stops_soon(site).await;
}

#[tokio::test]
async fn a_receiver_that_fails_is_left_alone_for_a_while() {
    let mut failing =
        Sink::answering(|_| Response::builder().status(500).body(Full::default()).unwrap()).await;
    let (site, _app) = accepts_go_on(&url(failing.address)).await;
    failing.next().await;
    stops_soon(site).await;
}

#[tokio::test]
async fn what_does_not_fit_is_dropped_and_counted() {
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let more = format!(
        "[traces]\nendpoint = \"{}\"\n",
        url(hanging.local_addr().unwrap())
    );
    let site = Site::start(&more).await;
    // Each duplicate records two spans, and the queue holds 16,384.
    let mut round = 0;
    while spans(&site, "dropped").await == 0 {
        round += 1;
        assert!(round < 40, "the queue has no limit");
        many_duplicates(&site, 500).await;
    }
    assert_eq!(site.stripe("evt_1").await.json()["status"], "duplicate");
}

/// Duplicates of one event, over one connection.
async fn many_duplicates(site: &Site, count: usize) {
    let body = br#"{"id":"evt_1","type":"invoice.paid"}"#;
    let headers = super::super::site::stripe_headers(body);
    let mut wire = hapax_testkit::Wire::open(site.server.ingest_address()).await;
    for _ in 0..count {
        assert_eq!(wire.post("/in/stripe", &headers, body).await.status, 200);
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}
