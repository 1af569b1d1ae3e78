//! The duplicates page.

use hapax_testkit::Sink;

use super::desk::Desk;

#[tokio::test]
async fn the_page_names_the_source_its_gaps_its_window_and_the_id_that_came_most() {
    let sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let id = desk.twice(r#"{"id":"evt_<b>","type":"invoice.paid"}"#).await;
    let page = desk.until("/duplicates", &format!("/events/{id}")).await;
    for text in [
        "50.0% duplicates: ",
        "1 of 2 received, 1 new, 0 conflicts",
        "up to 1 s",
        "more than 30 d",
        "window 30 d: fine",
        "evt_&lt;b&gt;",
        "no duplicates in the last 7d",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    assert!(desk.page("/sources").await.contains("href=\"/duplicates\""));
    let hour = desk.page("/duplicates?range=1h").await;
    assert!(hour.contains("no duplicates in the last 1h"), "{hour}");
}
