//! Dead letters and replays.

use hapax_testkit::Sink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::desk::Desk;

/// A sink that answers 500 until it is switched to 200.
async fn moody() -> (Sink, Arc<AtomicBool>) {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let sink = Sink::answering(move |_| {
        let status = if well.load(Ordering::SeqCst) { 200 } else { 500 };
        let response = http::Response::builder().status(status);
        response.body(http_body_util::Full::default()).unwrap()
    })
    .await;
    (sink, is_well)
}

fn body(number: u32) -> String {
    format!(r#"{{"id":"evt_{number}","type":"invoice.paid"}}"#)
}

fn hidden(page: &str, name: &str) -> String {
    let mark = format!("name=\"{name}\" value=\"");
    let from = page.find(&mark).unwrap_or_else(|| panic!("{name} in {page}")) + mark.len();
    page[from..].split('"').next().unwrap().replace("&quot;", "\"")
}

#[tokio::test]
async fn a_group_is_counted_then_confirmed_then_replayed() {
    let (mut sink, is_well) = moody().await;
    let desk = Desk::start(&sink.url()).await;
    for number in 1..=3 {
        desk.twice(&body(number)).await;
        sink.next().await;
    }
    let page = desk.until("/dead", "aria-label=\"Replay 3 to app\"").await;
    assert!(desk.page("/").await.contains("3 dead letters to app"));
    is_well.store(true, Ordering::SeqCst);
    let (q, to) = (hidden(&page, "q"), hidden(&page, "to"));
    let asked = desk
        .form("/dead", "/dead/replay", &[("q", &q), ("to", &to)])
        .await;
    assert_eq!(asked.status, 200, "{asked:?}");
    assert!(
        asked
            .text()
            .contains("<b>3 events</b> would be replayed to <b>app</b>"),
        "{}",
        asked.text()
    );
    assert!(
        sink.rest().is_empty(),
        "nothing is delivered before it is confirmed"
    );
    let fields = [
        ("q", q.as_str()),
        ("to", &to),
        ("of", "3"),
        ("why", "it is well again"),
    ];
    let started = desk.form("/dead", "/dead/replay/start", &fields).await;
    assert_eq!(started.status, 303, "{started:?}");
    let job = started.header("location").unwrap();
    let page = desk.until(job, "3 of 3 events examined").await;
    assert!(page.contains("The replay has started."), "{page}");
    let page = desk.until(job, "✓</span> done").await;
    assert!(page.contains("it is well again"), "{page}");
    for _ in 0..3 {
        sink.next().await;
    }
    desk.until("/dead", "There are no dead letters").await;
    assert!(desk.page("/replays").await.contains("it is well again"));
    assert!(sink.rest().is_empty(), "each is delivered once");
    let over = desk
        .form(
            "/destinations",
            &format!("{}/cancel", job.split('?').next().unwrap()),
            &[],
        )
        .await;
    assert_eq!(over.status, 409, "{over:?}");
}

#[tokio::test]
async fn a_dead_letter_is_discarded_and_restored() {
    let (sink, _) = moody().await;
    let desk = Desk::start(&sink.url()).await;
    desk.twice(&body(1)).await;
    let page = desk.until("/dead", "/dead/discard").await;
    let fields = [
        ("event", hidden(&page, "event")),
        ("destination", hidden(&page, "destination")),
    ];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let reply = desk.form("/dead", "/dead/discard", &fields).await;
    assert_eq!(reply.header("location").unwrap(), "/dead?done=discarded");
    assert!(desk.page("/dead").await.contains("There are no dead letters"));
    assert!(desk.page("/dead?list=discarded").await.contains("/dead/restore"));
    desk.form("/dead?list=discarded", "/dead/restore", &fields).await;
    assert!(
        desk.page("/dead")
            .await
            .contains("aria-label=\"Replay 1 to app\"")
    );
    let page = desk.page("/audit").await;
    assert!(
        page.contains("dead.discard") && page.contains("dead.restore"),
        "{page}"
    );
}

#[tokio::test]
async fn a_form_that_names_no_events_replays_nothing() {
    let (sink, _) = moody().await;
    let desk = Desk::start(&sink.url()).await;
    desk.twice(&body(1)).await;
    desk.until("/dead", "Replay 1 to app").await;
    for action in ["/dead/replay", "/dead/replay/start"] {
        assert_eq!(desk.form("/dead", action, &[("q", " ")]).await.status, 400);
    }
    assert!(
        desk.page("/replays")
            .await
            .contains("No group has been replayed yet")
    );
}
