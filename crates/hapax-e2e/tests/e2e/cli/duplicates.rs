//! `hapax stats duplicates`.

use std::time::Duration;

use hapax_testkit::{Sender, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn duplicates_with_a_gap_are_told_by_source_and_still_after_a_restart() {
    let sink = Sink::start().await;
    let mut service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe").event("evt_late");
    let id = service.deliver_twice(&delivery).await;
    service.until_event_is(&id, "completed", LIMIT).await;
    let told = async |service: &hapax_testkit::Service, copies: u64| {
        eventually("the duplicates are flushed", LIMIT, async || {
            let stats = service.hapax(&["stats", "duplicates", "--json"]).await.json();
            let first = stats["sources"][0]["redelivered"][0].clone();
            (first["duplicates"] == copies).then_some(stats)
        })
        .await
    };
    told(&service, 1).await;
    // The restart takes a while, so the duplicate after it has another gap than the first.
    service.restart().await;
    service.deliver(&delivery).await.assert_durable("duplicate");
    let stats = told(&service, 2).await;
    let stripe = &stats["sources"][0];
    assert_eq!(
        (stripe["accepted"].as_u64(), stripe["duplicates"].as_u64()),
        (Some(1), Some(2))
    );
    assert_eq!(stripe["gap"]["count"], 2, "a gap for each copy: {stripe}");
    assert!(stripe["gap_ms_max"].as_u64().unwrap() > 0, "{stripe}");
    assert_eq!(stripe["redelivered"][0]["event_id"], "evt_late");

    let text = service
        .hapax(&["stats", "duplicates", "stripe", "--range", "24h"])
        .await;
    text.assert_code(0);
    for words in ["stripe: largest gap", "window 30 d: fine", "evt_late"] {
        assert!(text.stdout.contains(words), "{words} in {text:#?}");
    }
    service
        .hapax(&["stats", "duplicates", "nobody"])
        .await
        .assert_code(4);
    service
        .hapax(&["stats", "duplicates", "--range", "2d"])
        .await
        .assert_code(2);
}
