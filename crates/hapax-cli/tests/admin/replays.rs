//! Replays of one event and of many.

use hapax_config::{self as config, Environment};
use hapax_delivery::destination::routing;
use serde_json::json;

use super::site::{Mood, Site};

#[tokio::test(flavor = "multi_thread")]
async fn each_mode_puts_back_what_it_says() {
    let site = Site::start().await;
    let id = site.accept_until("evt_1", "completed").await;
    let path = format!("events/{id}/replay");
    site.post(&path, "")
        .await
        .assert_problem(409, "nothing_to_replay");
    let key =
        async || site.get(&format!("events/{id}")).await.ok()["deliveries"][0]["idempotency_key"].clone();
    let first = key().await;
    let all = site
        .post(&path, json!({ "mode": "all", "why": "a test" }))
        .await
        .ok();
    assert_eq!(
        (all["deliveries"].as_u64(), all["generation"].as_u64()),
        (Some(1), Some(0))
    );
    site.until(id, "completed").await;
    assert_eq!(key().await, first);
    let forced = site.post(&path, json!({ "mode": "force" })).await.ok();
    assert_eq!(forced["generation"], 1);
    site.until(id, "completed").await;
    assert_ne!(key().await, first);

    let elsewhere = site
        .post(&path, json!({ "mode": "all", "to": "ledger" }))
        .await
        .ok();
    assert_eq!(elsewhere["deliveries"], 1);
    site.until(id, "completed").await;
    let view = site.get(&format!("events/{id}")).await.ok();
    let names: Vec<_> = view["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["destination"].clone())
        .collect();
    assert!(names.contains(&"ledger".into()), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_cannot_be_is_refused() {
    let site = Site::start().await;
    site.mood(Mood::Silent);
    let id = site.accept("evt_1").await.id();
    let path = format!("events/{id}/replay");
    site.post(&path, json!({ "mode": "all" }))
        .await
        .assert_problem(409, "deliveries_unfinished");
    site.post(&path, json!({ "to": "nowhere" }))
        .await
        .assert_problem(404, "unknown_destination");
    site.post(&path, json!({ "mode": "some" }))
        .await
        .assert_problem(400, "malformed_body");
    site.post(&path, json!({ "why": "x".repeat(1025) }))
        .await
        .assert_problem(400, "invalid_parameter");
    let absent = "events/01940000-0000-7000-8000-000000000001/replay";
    site.post(absent, "").await.assert_problem(404, "event_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_replay_is_previewed_started_and_ends_with_a_tally() {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    let mut ids = Vec::new();
    for number in 0..8 {
        ids.push(site.accept_until(&format!("evt_{number}"), "dead").await);
    }
    let query = json!({ "source": "stripe", "status": "dead" });
    let preview = site
        .post("replays", json!({ "query": query, "dry_run": true }))
        .await
        .ok();
    assert_eq!(
        (preview["dry_run"].as_bool(), preview["matched"].as_u64()),
        (Some(true), Some(8))
    );
    assert!(!preview["samples"].as_array().unwrap().is_empty());

    site.mood(Mood::Willing);
    let started = site
        .post(
            "replays",
            json!({ "query": query, "rate": 10_000, "why": "fixed" }),
        )
        .await;
    assert_eq!(started.status, 202);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(
        started.header("location"),
        Some(format!("/api/v1/replays/{id}").as_str())
    );
    let done = site
        .eventually("the replay is done", async || {
            let job = site.get(&format!("replays/{id}")).await.ok();
            (job["state"] == "done").then_some(job)
        })
        .await;
    assert_eq!(
        done["tally"],
        json!({ "matched": 8, "replayed": 8, "unfinished": 0, "skipped": 0, "bodies_read": 0 })
    );
    for event in ids {
        site.until(event, "completed").await;
    }
    site.delete(&format!("replays/{id}"))
        .await
        .assert_problem(409, "replay_finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_replay_can_be_cancelled() {
    let site = Site::start().await;
    for number in 0..5 {
        site.accept_until(&format!("evt_{number}"), "completed").await;
    }
    // One event per second, so that it is far from done when it is cancelled.
    let body = json!({ "query": { "source": "stripe" }, "mode": "all", "rate": 1 });
    let id = site.post("replays", body).await.ok()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let cancelled = site.delete(&format!("replays/{id}")).await.ok();
    assert_eq!(cancelled["state"], "cancelled");
    assert_eq!(
        site.get(&format!("replays/{id}")).await.ok()["state"],
        "cancelled"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_replay_of_everything_or_of_nothing_known_is_refused() {
    let site = Site::start().await;
    site.post("replays", "")
        .await
        .assert_problem(400, "invalid_parameter");
    site.post("replays", json!({ "query": {} }))
        .await
        .assert_problem(400, "invalid_parameter");
    let query = json!({ "source": "stripe" });
    site.post("replays", json!({ "query": query, "rate": 0 }))
        .await
        .assert_problem(400, "invalid_parameter");
    site.post("replays", json!({ "query": query, "to": "x" }))
        .await
        .assert_problem(404, "unknown_destination");
    let absent = "replays/01940000-0000-7000-8000-000000000001";
    site.get(absent).await.assert_problem(404, "replay_not_found");
    site.delete(absent).await.assert_problem(404, "replay_not_found");
    site.get("replays/x")
        .await
        .assert_problem(400, "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_could_take_effect_twice_is_refused_with_the_reason() {
    let site = Site::start().await;
    let file = site.folder.path().join("hapax.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    // An inbox that remembers for only a day cannot rule out that the event already took effect.
    let text = text.replace(
        "[destinations.ledger]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\n",
        "[destinations.ledger]\nkind = \"sql\"\nurl = \"sqlite:app.db\"\nstatements = [\"select 1\"]\n\
         inbox_retention = \"1d\"\n",
    );
    let config = config::parse(&text, &file, &Environment::with([]), &[]).unwrap();
    site.engine.reconfigure(routing(&config));
    let id = site.accept_until("evt_1", "completed").await;
    let path = format!("events/{id}/replay");
    let to_ledger = json!({ "mode": "all", "to": "ledger" });
    assert_eq!(site.post(&path, to_ledger.clone()).await.ok()["deliveries"], 1);
    site.until(id, "completed").await;
    for _ in 0..2 {
        let refused = site.post(&path, to_ledger.clone()).await;
        refused.assert_problem(409, "nothing_to_replay");
        let why = refused.json()["detail"].clone();
        assert!(
            why.as_str()
                .unwrap()
                .starts_with("`ledger` applied this event longer ago than `inbox_retention`"),
            "{why}"
        );
    }
    let failed = site.post(&path, json!({ "mode": "failed" })).await;
    failed.assert_problem(409, "nothing_to_replay");
    let why = failed.json()["detail"].to_string();
    assert!(why.contains("no delivery of this event is dead"), "{why}");
    let others = site.post(&path, json!({ "mode": "all" })).await.ok();
    assert_eq!(
        (&others["deliveries"], &others["left_alone"]),
        (&json!(1), &json!(["ledger"]))
    );
    site.until(id, "completed").await;
    let forced = site.post(&path, json!({ "mode": "force" })).await.ok();
    assert_eq!(
        (&forced["deliveries"], &forced["left_alone"]),
        (&json!(2), &json!([]))
    );
}
