//! `GET stats/duplicates`.

use std::time::Duration;

use hapax_core::store::{Subject, TimeRange, Traffic, TrafficRow};
use hapax_core::{Clock as _, Operations as _, Owner, SystemClock};
use serde_json::Value;

use super::site::Site;

const HOUR: Duration = Duration::from_secs(3_600);

fn source<'a>(stats: &'a Value, name: &str) -> &'a Value {
    let sources = stats["sources"].as_array().unwrap();
    sources.iter().find(|one| one["source"] == name).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_are_counted_by_source_with_the_ids_that_came_most() {
    let site = Site::start().await;
    for _ in 0..4 {
        site.accept("evt_often").await;
    }
    for _ in 0..2 {
        site.accept("evt_twice").await;
    }
    let often = site
        .eventually("the duplicates are flushed", async || {
            let stats = site.get("stats/duplicates").await.ok();
            let first = source(&stats, "stripe")["redelivered"][0].clone();
            (first["duplicates"] == 3).then_some(first)
        })
        .await;
    assert_eq!(
        (&often["event_id"], often["duplicates_at_most"].as_u64()),
        (&"evt_often".into(), Some(3))
    );
    assert!(
        often["first_at"].is_string() && often["last_at"].is_string(),
        "{often}"
    );
    let stats = site.get("stats/duplicates?range=1h&source=stripe").await.ok();
    assert_eq!(stats["sources"].as_array().unwrap().len(), 1);
    let stripe = source(&stats, "stripe");
    assert_eq!(
        (
            stripe["received"].as_u64(),
            stripe["accepted"].as_u64(),
            stripe["duplicates"].as_u64()
        ),
        (Some(6), Some(2), Some(4))
    );
    let counted: u64 = stripe["gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["duplicates"].as_u64().unwrap())
        .sum();
    assert_eq!(
        (stripe["gaps"][0]["duplicates"].as_u64(), counted),
        (Some(4), 4),
        "{stripe}"
    );
    assert_eq!(stripe["window"]["advice"], "fine");
    assert_eq!(
        source(&site.get("stats/duplicates").await.ok(), "backup")["window"]["advice"],
        "unknown"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_with_new_ids_for_old_bodies_and_one_that_uses_ids_again_are_found() {
    let site = Site::start().await;
    for number in 0..12 {
        for _ in 0..2 {
            site.accept_as("stripe", &format!("evt_{number}"), "{\"order\":1}")
                .await;
            site.accept_as(
                "backup",
                &format!("evt_{number}"),
                if number % 2 == 0 { "{\"a\":1}" } else { "[]" },
            )
            .await;
        }
    }
    site.accept_as("payments", "evt_1", "{\"amount\":1}").await;
    site.accept_as("payments", "evt_1", "{\"amount\":2}").await;
    let stats = site.get("stats/duplicates").await.ok();
    let kinds = |name| -> Vec<Value> {
        let findings = source(&stats, name)["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["kind"].clone()).collect()
    };
    assert_eq!(
        (source(&stats, "stripe")["same_bodies"].as_u64(), kinds("stripe")),
        (Some(11), vec!["unstable_ids".into()])
    );
    assert_eq!(kinds("payments"), ["reused_ids"]);
}

/// Counts that another process wrote to the store.
async fn elsewhere(site: &Site, gap: Duration) {
    let mut traffic = Traffic {
        accepted: 10,
        duplicates: 30,
        gap_ms_max: gap.as_millis() as u64,
        ..Traffic::default()
    };
    for _ in 0..30 {
        traffic.gaps.count(gap);
        traffic.redelivered.count("evt_elsewhere");
    }
    let row = TrafficRow {
        range: TimeRange::Week,
        slot: TimeRange::Week.slot_of(SystemClock::default().now()),
        subject: Subject::Source("stripe".into()),
        owner: Owner(7),
        traffic,
    };
    site.store.put_traffic(vec![row]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_gap_of_all_processes_is_held_against_the_window() {
    let site = Site::start().await;
    for _ in 0..2 {
        site.accept("evt_here").await;
    }
    elsewhere(&site, 71 * HOUR).await;
    let stats = site.get("stats/duplicates").await.ok();
    let stripe = source(&stats, "stripe");
    assert_eq!(
        stripe["window"]["sentence"],
        "stripe: largest gap 71 h, window 30 d: fine"
    );
    assert_eq!(
        (stripe["accepted"].as_u64(), stripe["duplicates"].as_u64()),
        (Some(11), Some(31))
    );
    // The ledger has no such id, so its count is reported as an upper bound.
    let id = stripe["redelivered"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["event_id"] == "evt_elsewhere")
        .unwrap();
    assert_eq!(
        (id["duplicates"].as_u64(), id["duplicates_at_most"].as_u64()),
        (None, Some(30))
    );

    elsewhere(&site, 29 * 24 * HOUR).await;
    let stats = site.get("stats/duplicates?source=stripe").await.ok();
    let stripe = source(&stats, "stripe");
    assert_eq!(
        (&stripe["window"]["advice"], &stripe["findings"][0]["kind"]),
        (&"raise".into(), &"window".into())
    );
    assert_eq!(stripe["window"]["recommended_seconds"], 58 * 86_400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_nobody_has_and_a_span_that_is_none_are_refused() {
    let site = Site::start().await;
    site.get("stats/duplicates?source=nobody")
        .await
        .assert_problem(404, "unknown_source");
    site.get("stats/duplicates?range=2d")
        .await
        .assert_problem(400, "invalid_parameter");
}
