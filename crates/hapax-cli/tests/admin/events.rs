//! Reading events.

use std::collections::HashSet;

use super::site::{Mood, Site};

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_shown_with_its_deliveries_attempts_duplicates_and_conflicts() {
    let site = Site::start().await;
    let id = site.accept_until("evt_1", "completed").await;
    assert_eq!(site.accept("evt_1").await.status(), "duplicate");
    assert_eq!(
        site.accept_as("stripe", "evt_1", "<other>").await.status(),
        "conflict"
    );
    let view = site
        .eventually("the copy is flushed and the variant kept", async || {
            let view = site.get(&format!("events/{id}")).await.ok();
            let whole = !view["duplicates"].is_null() && view["conflicts"] != serde_json::json!([]);
            whole.then_some(view)
        })
        .await;
    assert_eq!(view["source"], "stripe");
    assert_eq!(view["event_id"], "evt_1");
    assert_eq!(view["type"], "invoice.paid");
    assert_eq!(view["deliveries"][0]["destination"], "billing");
    assert_eq!(view["deliveries"][0]["destination_id"], "billing-id");
    assert_eq!(view["deliveries"][0]["status"], "completed");
    assert_eq!(view["attempts"][0]["status"], 200);
    assert_eq!(view["duplicates"]["count"], 1);
    let values: Vec<_> = view["headers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["value"].clone())
        .collect();
    assert_eq!(values, ["text/html", "***", "\u{fffd}"]);

    let hash = view["conflicts"][0]["body_sha256"].as_str().unwrap().to_owned();
    let variant = site.get(&format!("events/{id}/conflicts/{hash}/payload")).await;
    assert_eq!(&variant.body[..], b"<other>");
    let released = site
        .post(&format!("events/{id}/conflicts/{hash}/release"), "")
        .await
        .ok();
    let again = site
        .post(&format!("events/{id}/conflicts/{hash}/release"), "")
        .await
        .ok();
    assert_eq!(released["id"], again["id"]);
    let view = site.get(&format!("events/{id}")).await.ok();
    assert_eq!(view["conflicts"][0]["released_as"], released["id"]);
    let absent = "0".repeat(64);
    let path = format!("events/{id}/conflicts/{absent}/release");
    site.post(&path, "")
        .await
        .assert_problem(404, "conflict_not_found");
    site.post(&format!("events/{id}/conflicts/xyz/release"), "")
        .await
        .assert_problem(400, "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_comes_back_byte_for_byte_and_no_browser_runs_it() {
    let site = Site::start().await;
    let id = site
        .accept_as("stripe", "evt_1", "<script>alert(1)</script>")
        .await
        .id();
    let payload = site.get(&format!("events/{id}/payload")).await;
    assert_eq!(&payload.body[..], b"<script>alert(1)</script>");
    assert_eq!(payload.header("content-type"), Some("text/html"));
    assert_eq!(payload.header("x-content-type-options"), Some("nosniff"));
    assert!(
        payload
            .header("content-security-policy")
            .unwrap()
            .contains("sandbox")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_not_there_is_not_found_and_an_id_that_is_none_is_refused() {
    let site = Site::start().await;
    let absent = "01940000-0000-7000-8000-000000000001";
    for path in [format!("events/{absent}"), format!("events/{absent}/payload")] {
        site.get(&path).await.assert_problem(404, "event_not_found");
    }
    site.get("events/evt_1")
        .await
        .assert_problem(400, "invalid_parameter");
    site.get("events/%ff")
        .await
        .assert_problem(400, "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_choose_and_pages_neither_skip_nor_repeat_while_events_arrive() {
    let site = Site::start().await;
    for number in 0..25 {
        site.accept(&format!("before_{number}")).await;
    }
    site.accept_as("backup", "elsewhere", "{}").await;
    let mut found = HashSet::new();
    let mut cursor = String::new();
    for round in 0.. {
        let page = site
            .get(&format!("events?source=stripe&limit=7{cursor}"))
            .await
            .ok();
        for event in page["events"].as_array().unwrap() {
            assert!(
                found.insert(event["event_id"].as_str().unwrap().to_owned()),
                "{event} twice"
            );
        }
        // Newer than every page, so it must not appear in this listing.
        site.accept(&format!("during_{round}")).await;
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, (0..25).map(|number| format!("before_{number}")).collect());

    let one = site.get("events?event_id=before_3&type=invoice.*").await.ok();
    assert_eq!(one["events"].as_array().unwrap().len(), 1);
    assert_eq!(
        site.get("events?type=charge.*").await.ok()["events"],
        serde_json::json!([])
    );
    assert_eq!(
        site.get("events?until=2020-01-01T00:00:00Z").await.ok()["events"],
        serde_json::json!([])
    );
    assert_eq!(
        site.get("events?source=stripe&since=2020-01-01T00%3A00%3A00%2B00%3A00")
            .await
            .status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_a_paused_or_removed_destination_is_held() {
    let site = Site::start().await;
    site.mood(Mood::Silent);
    site.post("destinations/billing/pause", r#"{"why":"moving"}"#)
        .await
        .ok();
    let id = site.accept("evt_1").await.id();
    let status = async || site.get(&format!("events/{id}")).await.ok()["deliveries"][0]["status"].clone();
    assert_eq!(status().await, "held");
    assert_eq!(site.get("stats").await.ok()["destinations"][0]["held"], 1);

    let mut settings = site.settings.load().as_ref().clone();
    settings
        .destinations
        .retain(|destination| destination.name != "billing");
    site.settings.store(std::sync::Arc::new(settings));
    let view = site.get(&format!("events/{id}")).await.ok();
    assert_eq!(view["deliveries"][0]["destination"], "billing-id");
    assert_eq!(view["deliveries"][0]["status"], "held");
    let removed = site.get("destinations").await.ok();
    assert_eq!(removed["destinations"][0]["configured"], false);
    let resumed = site.post("destinations/billing-id/resume", "").await.ok();
    assert_eq!(resumed["was_paused"], true);
}
