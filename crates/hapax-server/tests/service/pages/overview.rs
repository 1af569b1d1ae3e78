//! The overview and the audit trail.

use hapax_testkit::{Sink, wire};

use super::desk::{Desk, Door, figure};
use crate::site::{OTHER_SECRET, now, stripe_headers_with};

const BODY: &str = r#"{"id":"evt_1","type":"invoice.paid"}"#;

#[tokio::test]
async fn the_overview_counts_events_duplicates_and_refused_requests() {
    let mut sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    desk.twice(BODY).await;
    sink.next().await;
    let headers = stripe_headers_with(OTHER_SECRET, now(), BODY.as_bytes());
    wire::post(
        desk.server.ingest_address(),
        "/in/shop",
        &headers,
        BODY.as_bytes(),
    )
    .await;
    let page = desk.until("/?range=1h", "<dd>3</dd>").await;
    assert_eq!(figure(&page, "Received"), "3");
    assert_eq!(figure(&page, "Accepted"), "1");
    assert_eq!(figure(&page, "Duplicates"), "1");
    assert_eq!(figure(&page, "Dedupe rate"), "50.0%");
    assert_eq!(figure(&page, "Rejected"), "1");
    assert!(figure(&page, "Ack p50 / p95 / p99").ends_with(" ms"));
    let recent = page.split_once("Last ten minutes</h2>").unwrap().1;
    assert!(
        recent.contains("Figures of the process that answers, which started"),
        "{recent}"
    );
    let row = recent.split_once("<th scope=\"row\">shop</th>").unwrap().1;
    let cells: Vec<&str> = row.split("<td class=\"number\">").skip(1).take(4).collect();
    for (cell, value) in cells.iter().zip(["2", "50.0%", "0.0%", "1"]) {
        assert!(cell.starts_with(&format!("{value}</td>")), "{value} in {cell}");
    }
    assert!(page.contains("shop over the last 1h: 1 accepted, 1 duplicates, 0 conflicts, 1 rejected"));
    assert!(
        page.contains("1 refused request from shop in the last hour"),
        "{page}"
    );
    for span in ["24h", "7d"] {
        assert_eq!(
            figure(&desk.page(&format!("/?range={span}")).await, "Received"),
            "3"
        );
    }
    assert_eq!(desk.get("/?range=2h").await.status, 400);
}

#[tokio::test]
async fn what_was_counted_is_shown_after_a_restart() {
    let mut sink = Sink::start().await;
    let mut desk = Desk::start(&sink.url()).await;
    desk.twice(BODY).await;
    sink.next().await;
    desk.until("/", "<td class=\"number\">1</td>").await;
    desk.server.stop().await;
    desk = Desk::start_in(desk.folder, &sink.url(), Door::Open).await;
    let page = desk.page("/?range=7d").await;
    assert_eq!(
        (figure(&page, "Accepted"), figure(&page, "Duplicates")),
        ("1".into(), "1".into())
    );
}

#[tokio::test]
async fn a_quiet_service_says_that_nothing_needs_attention() {
    let sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let page = desk.page("/").await;
    assert!(page.contains("No dead letters, open breakers"), "{page}");
    assert_eq!(figure(&page, "Received"), "0");
}
