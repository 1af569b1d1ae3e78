//! Sources, destinations and counts.

use super::site::{Mood, Site};

#[tokio::test(flavor = "multi_thread")]
async fn sources_and_destinations_are_shown_without_secrets() {
    let site = Site::start().await;
    let sources = site.get("sources").await;
    assert_eq!(sources.ok()["sources"][2]["name"], "stripe");
    assert_eq!(sources.ok()["sources"][2]["secrets"], 1);
    let destinations = site.get("destinations").await;
    assert_eq!(
        destinations.ok()["destinations"][0]["target"],
        "http://127.0.0.1:9/hook"
    );
    for response in [sources, destinations] {
        let text = String::from_utf8(response.body.to_vec()).unwrap();
        assert!(!text.contains("whsec") && !text.contains("token=x"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_is_paused_by_name_or_id_and_resumed_once() {
    let site = Site::start().await;
    let paused = site
        .post("destinations/billing-id/pause", r#"{"why":"moving"}"#)
        .await
        .ok();
    assert_eq!(
        (paused["by"].as_str(), paused["why"].as_str()),
        (Some("admin"), Some("moving"))
    );
    assert_eq!(
        site.get("destinations").await.ok()["destinations"][0]["paused"]["why"],
        "moving"
    );
    let id = site.accept("evt_1").await.id();
    assert_eq!(
        site.post("destinations/billing/resume", "").await.ok()["was_paused"],
        true
    );
    site.until(id, "completed").await;
    assert_eq!(
        site.post("destinations/billing/resume", "").await.ok()["was_paused"],
        false
    );
    site.post("destinations/nowhere/pause", "")
        .await
        .assert_problem(404, "unknown_destination");
    site.post("destinations/nowhere/resume", "")
        .await
        .assert_problem(404, "unknown_destination");
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_count_arrivals_and_backlogs() {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    site.accept_until("evt_1", "dead").await;
    site.accept("evt_1").await;
    let stats = site.get("stats").await.ok();
    let source = stats["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["source"] == "stripe")
        .unwrap();
    assert_eq!(
        (source["accepted"].as_u64(), source["duplicates"].as_u64()),
        (Some(1), Some(1))
    );
    assert_eq!(
        (source["received"].as_u64(), source["dedupe_ratio"].as_f64()),
        (Some(2), Some(0.5))
    );
    assert_eq!(source["ledger_entries"], 1);
    assert_eq!(stats["destinations"][0]["dead"], 1);
    assert_eq!(stats["store"]["events"], 1);
    assert!(stats["store"]["bytes"].as_u64().unwrap() > 0);
    assert_eq!(stats["retention"]["events_deleted"], 0);
}
