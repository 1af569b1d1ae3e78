//! Everything that the dashboard can do, the command line can, too: queries, saved searches, groups of dead letters,
//! bulk replays, the ledger, conflicts, exports, the audit trail.

use std::time::Duration;

use serde_json::{Value, json};

use hapax_testkit::{Reply, Sender, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(30);

fn ids(page: &Value) -> Vec<&str> {
    let events = page["events"].as_array().unwrap();
    events
        .iter()
        .map(|event| event["event_id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_query_finds_a_value_in_bodies_and_a_view_keeps_it() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let stripe = Sender::of("stripe");
    for (id, order) in [("evt_1", "ord_1"), ("evt_2", "ord_2"), ("evt_3", "ord_1")] {
        let event = stripe.stripe_event(id, "invoice.paid", &json!({ "id": order }));
        service.deliver_twice(&event).await;
    }
    let query = "body:/data/object/id=ord_1 since:1h";
    let found = service
        .hapax(&["events", "list", "--json", "-q", query])
        .await
        .json();
    assert_eq!(ids(&found), ["evt_3", "evt_1"]);
    assert_eq!(found["coverage"]["kind"], "newest");

    service
        .hapax(&["searches", "save", "one order", query])
        .await
        .assert_code(0);
    let views = service.hapax(&["searches", "list", "--json"]).await.json();
    assert_eq!(views["searches"][0]["query"], query);
    let seen = service
        .hapax(&[
            "events",
            "list",
            "--json",
            "--saved-search",
            "one order",
            "--query",
            "evt_1",
            "--source",
            "stripe",
        ])
        .await
        .json();
    assert_eq!(ids(&seen), ["evt_1"], "a view, a query and a flag must all match");
    service
        .hapax(&["searches", "remove", "one order"])
        .await
        .assert_code(0);
    service
        .hapax(&["searches", "remove", "one order"])
        .await
        .assert_code(4);
    service
        .hapax(&["events", "list", "--saved-search", "one order"])
        .await
        .assert_code(4);
    let refused = service.hapax(&["events", "list", "-q", "stat:dead"]).await;
    refused.assert_code(1);
    assert!(refused.stderr.contains("character 1"), "{refused:#?}");
}

#[tokio::test]
async fn a_field_that_its_source_has_indexed_is_looked_up_and_completed() {
    let service = Setup::new()
        .source("stripe", "stripe", "indexed = [\"/data/object/id\"]")
        .start()
        .await;
    let stripe = Sender::of("stripe");
    for (id, order) in [("evt_1", "ord_1"), ("evt_2", "ord_2")] {
        let event = stripe.stripe_event(id, "invoice.paid", &json!({ "id": order }));
        service.deliver_twice(&event).await;
    }
    let query = "source:stripe body:/data/object/id=ord_2";
    let found = service
        .hapax(&["events", "list", "--json", "-q", query])
        .await
        .json();
    assert_eq!(ids(&found), ["evt_2"]);
    assert_eq!(found["coverage"]["kind"], "indexed", "{found}");
    let text = service.hapax(&["events", "list", "-q", query]).await;
    assert!(text.stderr.contains("indexed only since"), "{text:#?}");
    let completion = service.api("query/complete?q=body:/d").await;
    assert_eq!(completion["suggestions"][0]["term"], "body:/data/object/id=");
}

#[tokio::test]
async fn a_group_of_dead_letters_is_replayed_by_its_query_and_the_replay_is_listed() {
    let sink = Sink::that(|_| Reply::Status(410)).await;
    let service = Setup::stripe_to(&sink).start().await;
    for number in 0..3 {
        let id = service
            .deliver_twice(&Sender::of("stripe").event(&format!("evt_{number}")))
            .await;
        service.until_event_is(&id, "dead", LIMIT).await;
    }
    let groups = service.hapax(&["dead", "groups", "--json"]).await.json();
    let group = &groups["groups"][0];
    assert_eq!(
        (&group["destination"], &group["count"]),
        (&json!("app"), &json!(3)),
        "{groups}"
    );
    let text = service.hapax(&["dead", "groups"]).await;
    assert!(
        text.stdout.contains("refused") && text.stderr.contains("hapax replay"),
        "{text:#?}"
    );

    sink.behave(|_| Reply::Status(200));
    let query = group["q"].as_str().unwrap();
    let preview = service
        .hapax(&["replay", "--query", query, "--to", "app", "--dry-run", "--json"])
        .await
        .json();
    assert_eq!(preview["matched"], 3);
    let done = service
        .hapax(&[
            "replay", "--query", query, "--to", "app", "--yes", "--json", "--why", "fixed",
        ])
        .await
        .json();
    assert_eq!(done["tally"]["replayed"], 3, "{done}");
    sink.until_effects(3, LIMIT).await;

    let listed = service.hapax(&["replays", "list", "--json"]).await.json();
    assert_eq!(
        (&listed["replays"][0]["id"], &listed["replays"][0]["why"]),
        (&done["id"], &json!("fixed"))
    );
    let id = done["id"].as_str().unwrap();
    assert_eq!(
        service.hapax(&["replays", "show", id, "--json"]).await.json()["state"],
        "done"
    );
    service.hapax(&["replays", "cancel", id]).await.assert_code(1);
    service
        .hapax(&["replays", "show", "01940000-0000-7000-8000-000000000001"])
        .await
        .assert_code(4);
    let audit = service.hapax(&["audit", "--json"]).await.json();
    assert_eq!(audit["audit"][0]["action"], "replay.start", "{audit}");
    assert!(service.hapax(&["audit"]).await.stdout.contains("replay.start"));
}

#[tokio::test]
async fn the_ledger_says_how_often_an_id_came_and_a_conflict_is_compared_and_released() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let stripe = Sender::of("stripe");
    let id = service
        .deliver_twice(&stripe.stripe_event("evt_1", "invoice.paid", &json!({ "amount": 1 })))
        .await;
    service
        .deliver(&stripe.stripe_event("evt_1", "invoice.paid", &json!({ "amount": 2 })))
        .await
        .assert_durable("conflict");
    let entry = eventually("the copy is counted", LIMIT, async || {
        let entry = service
            .hapax(&["ledger", "stripe", "evt_1", "--json"])
            .await
            .json();
        (entry["duplicates"] == 1).then_some(entry)
    })
    .await;
    assert_eq!(entry["id"], json!(id));
    assert!(
        service
            .hapax(&["ledger", "stripe", "evt_1"])
            .await
            .stdout
            .contains("duplicates")
    );
    service.hapax(&["ledger", "stripe", "evt_9"]).await.assert_code(4);

    let hash = eventually("the other body is kept", LIMIT, async || {
        let event = service.api(&format!("events/{id}")).await;
        event["conflicts"][0]["body_sha256"].as_str().map(str::to_owned)
    })
    .await;
    let listed = service.hapax(&["conflicts", "list", "--json"]).await.json();
    assert_eq!(ids(&listed), ["evt_1"]);
    let diff = service.hapax(&["conflicts", "diff", &id, &hash]).await;
    assert!(
        diff.stdout.contains("\n-") && diff.stdout.contains("\"amount\": 2"),
        "{diff:#?}"
    );
    let first = service
        .hapax(&["conflicts", "release", &id, &hash, "--json"])
        .await
        .json();
    let again = service
        .hapax(&["conflicts", "release", &id, &hash, "--json"])
        .await
        .json();
    assert_eq!(first["id"], again["id"]);
}

#[tokio::test]
async fn an_event_is_shown_with_its_proof_and_copied_as_a_request_and_as_tests() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let shown = service.hapax(&["events", "show", &id]).await;
    for line in ["identity", "proof", "duplicates"] {
        assert!(shown.stdout.contains(line), "{line}: {shown:#?}");
    }
    for kind in ["curl", "rust", "python", "typescript", "pytest", "vitest"] {
        let copy = service.hapax(&["events", "export", &id, "--as", kind]).await;
        copy.assert_code(0);
        assert!(copy.stdout.contains("evt_1"), "{kind}: {copy:#?}");
        let json = service
            .hapax(&["events", "export", &id, "--as", kind, "--json"])
            .await
            .json();
        assert_eq!(json["as"], kind);
    }
}

#[tokio::test]
async fn places_and_traffic_are_listed_for_people_and_for_programs() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    service.until_event_is(&id, "completed", LIMIT).await;
    let sources = service.hapax(&["sources", "--json"]).await.json();
    assert_eq!(sources["sources"][0]["name"], "stripe");
    assert!(service.hapax(&["sources"]).await.stdout.contains("stripe"));
    let destinations = service.hapax(&["destinations", "--json"]).await.json();
    assert_eq!(destinations["destinations"][0]["name"], "app");
    assert!(service.hapax(&["destinations"]).await.stdout.contains("ok"));
    let stats = service.hapax(&["stats", "--range", "1h", "--json"]).await.json();
    let source = &stats["traffic"]["sources"][0];
    assert_eq!(
        (&source["accepted"], &source["duplicates"]),
        (&json!(1), &json!(1)),
        "{source}"
    );
    assert!(
        service
            .hapax(&["stats", "--range", "24h"])
            .await
            .stdout
            .contains("the last 24h")
    );
    let overview = service.hapax(&["overview", "--json"]).await.json();
    assert_eq!(overview["received"], 2, "{overview}");
    assert!(
        service
            .hapax(&["overview", "--range", "7d"])
            .await
            .stdout
            .contains("nothing needs attention")
    );
}

#[tokio::test]
async fn the_description_of_the_api_is_printed_and_served_alike() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let printed = service.hapax(&["print", "openapi"]).await.json();
    let served = service.api("openapi.json").await;
    assert_eq!(printed, served);
    let page = service.admin("/api").await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("/api/v1/ledger/{source}/{event_id}"));
}
