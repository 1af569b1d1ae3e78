//! The query language over the wire: in lists, live tails, bulk replays and completions.

use serde_json::{Value, json};

use super::site::{Mood, Site};

fn ids(page: &Value) -> Vec<&str> {
    let events = page["events"].as_array().unwrap();
    events
        .iter()
        .map(|event| event["event_id"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_finds_what_its_terms_say_and_says_what_it_looked_at() {
    let site = Site::start().await;
    for number in 0..3 {
        let id = format!("evt_{number}");
        site.accept_until(&id, "completed").await;
        assert_eq!(site.accept(&id).await.status(), "duplicate");
    }
    site.accept_as("payments", "pay_1", "{\"order\":\"ord_1\"}").await;
    let page = site
        .get("events?q=source:stripe+type:invoice.*+status:completed")
        .await
        .ok();
    assert_eq!(ids(&page), ["evt_2", "evt_1", "evt_0"]);
    assert_eq!(page["coverage"], json!({ "kind": "everything" }));
    let page = site.get("events?q=evt_1&source=stripe").await.ok();
    assert_eq!(ids(&page), ["evt_1"], "both must match");
    assert_eq!(ids(&site.get("events?q=evt_1&source=backup").await.ok()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_says_a_key_twice_or_makes_no_sense_is_refused_with_the_place() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let twice = site.get("events?q=source:stripe&source=stripe").await;
    twice.assert_problem(400, "invalid_parameter");
    assert!(twice.json()["detail"].as_str().unwrap().contains("`source`"));
    let wrong = site.get("events?q=source:stripe+stat:dead").await;
    wrong.assert_problem(400, "invalid_parameter");
    assert!(wrong.json()["detail"].as_str().unwrap().contains("character 15"));
    for cursor in [
        "1",
        "0000000000000001.",
        "0000000000000001.x",
        "0000000000000001.1.1",
    ] {
        let path = format!("events?cursor={cursor}");
        site.get(&path).await.assert_problem(400, "invalid_parameter");
    }
    let far = site
        .get("events?cursor=0000000000000001.18446744073709551615")
        .await;
    assert_eq!(
        far.status, 200,
        "a number that no search ever reads is not a failure"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_is_named_in_a_query_as_people_call_it() {
    let site = Site::start().await;
    site.accept_until("evt_1", "completed").await;
    site.accept("evt_1").await;
    site.accept_quietly("pay_1".to_owned()).await;
    for path in [
        "events?q=to:billing",
        "events?q=to:billing-id",
        "events?to=billing",
    ] {
        assert_eq!(ids(&site.get(path).await.ok()), ["evt_1"], "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_replay_takes_its_query_as_text_or_as_an_object() {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    for number in 0..3 {
        site.accept_until(&format!("evt_{number}"), "dead").await;
        site.accept(&format!("evt_{number}")).await;
    }
    let queries = [
        json!("source:stripe status:dead"),
        json!({ "source": "stripe", "status": "dead" }),
    ];
    for query in queries {
        let preview = site
            .post("replays", json!({ "query": query, "dry_run": true }))
            .await
            .ok();
        assert_eq!(preview["matched"], 3, "{query}");
        assert_eq!(preview["coverage"]["kind"], "everything");
    }
    for (query, says) in [
        (json!("status:nonsense"), "nonsense"),
        (json!({ "sauce": "stripe" }), "sauce"),
        (json!(""), "empty"),
        (json!({ "body": [{ "pointer": "id", "value": "1" }] }), "pointer"),
        (json!(7), "query"),
    ] {
        let refused = site
            .post("replays", json!({ "query": query, "dry_run": true }))
            .await;
        assert_eq!(refused.status, 400, "{query}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(says), "{detail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_of_dead_letters_is_listed_with_its_query_as_text() {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    for number in 0..2 {
        site.accept_until(&format!("evt_{number}"), "dead").await;
        site.accept(&format!("evt_{number}")).await;
    }
    let groups = site.get("deliveries/groups").await.ok();
    let group = &groups["groups"][0];
    assert_eq!(
        (&group["destination"], &group["error"], &group["count"]),
        (&json!("billing"), &json!("refused"), &json!(2)),
        "{groups}"
    );
    site.mood(Mood::Willing);
    let body = json!({ "query": group["q"], "to": group["destination"], "why": "fixed" });
    let started = site.post("replays", body).await.ok();
    let id = started["id"].as_str().unwrap().to_owned();
    let done = site
        .eventually("the replay is done", async || {
            let job = site.get(&format!("replays/{id}")).await.ok();
            (job["state"] == "done").then_some(job)
        })
        .await;
    assert_eq!(done["tally"]["replayed"], 2, "{done}");
    let listed = site.get("replays").await.ok();
    assert_eq!(listed["replays"][0]["id"], json!(id));
    assert_eq!(listed["replays"][0]["q"], "to:billing-id error:refused");
    assert_eq!(listed["next"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_is_kept_as_it_was_typed_until_it_is_deleted_and_both_are_audited() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let query = json!({ "query": "status:dead since:2h" });
    for _ in 0..2 {
        let saved = site.put("searches/dead%20today", &query).await.ok();
        assert_eq!(saved["query"], "status:dead since:2h");
    }
    let views = site.get("searches").await.ok();
    assert_eq!(views["searches"].as_array().map(Vec::len), Some(1), "{views}");
    assert_eq!(views["searches"][0]["name"], "dead today");
    assert_eq!(
        site.delete("searches/dead%20today").await.ok()["name"],
        "dead today"
    );
    site.delete("searches/dead%20today")
        .await
        .assert_problem(404, "saved_search_not_found");
    let audit = site.get("audit").await.ok();
    let actions: Vec<_> = audit["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["action"].clone())
        .collect();
    assert_eq!(
        actions,
        ["saved_search.delete", "saved_search.save", "saved_search.save"]
    );

    for (name, query) in [
        ("x", "nonsense:1"),
        ("x", ""),
        ("%20x", "status:dead"),
        ("%0A", "status:dead"),
    ] {
        let refused = site
            .put(&format!("searches/{name}"), json!({ "query": query }))
            .await;
        refused.assert_problem(400, "invalid_parameter");
    }
    site.put("searches/x", "{}")
        .await
        .assert_problem(400, "malformed_body");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_says_how_often_an_id_came_and_how_long_it_is_remembered() {
    let site = Site::start().await;
    site.accept_until("evt_1", "completed").await;
    let fresh = site.get("ledger/stripe/evt_1").await.ok();
    assert_eq!(
        (&fresh["duplicates"], &fresh["last_at"]),
        (&json!(0), &Value::Null)
    );
    site.accept("evt_1").await;
    let entry = site
        .eventually("the copy is flushed", async || {
            let entry = site.get("ledger/stripe/evt_1").await.ok();
            (entry["duplicates"] == 1).then_some(entry)
        })
        .await;
    assert!(entry["last_at"].is_string(), "{entry}");
    let left = entry["window_left_seconds"].as_u64().unwrap();
    assert!(left > 3_600 && left <= 366 * 86_400, "{entry}");
}

#[tokio::test(flavor = "multi_thread")]
async fn completion_knows_the_names_of_this_service_and_says_what_is_wrong() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let terms = async |q: &str| -> Vec<String> {
        let view = site.get(&format!("query/complete?q={q}")).await.ok();
        let found = view["suggestions"].as_array().unwrap().iter();
        found
            .map(|one| one["term"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(terms("status:dead+so").await, ["source:"]);
    assert_eq!(terms("source:st").await, ["source:stripe"]);
    assert_eq!(terms("to:b").await, ["to:billing"]);
    assert_eq!(terms("type:").await, ["type:invoice.paid"]);
    let view = site.get("query/complete?q=stat:dead").await.ok();
    assert!(view["problem"].as_str().unwrap().contains("stat"), "{view}");
    let view = site.get("query/complete?q=status:dead").await.ok();
    assert_eq!(view["problem"], Value::Null);
    let long = "x".repeat(2_049);
    site.get(&format!("query/complete?q={long}"))
        .await
        .assert_problem(400, "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_look_back_as_far_as_they_are_asked_to() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    assert_eq!(site.get("stats").await.ok()["traffic"], Value::Null);
    for (over, slots) in [("1h", 60), ("24h", 96), ("7d", 168)] {
        let traffic = site.get(&format!("stats?range={over}")).await.ok()["traffic"].clone();
        assert_eq!(traffic["range"], over);
        assert_eq!(traffic["slots"].as_array().map(Vec::len), Some(slots));
        let source = &traffic["sources"][0];
        assert_eq!(source["series"]["accepted"].as_array().map(Vec::len), Some(slots));
    }
    site.get("stats?range=1y")
        .await
        .assert_problem(400, "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_tail_refuses_terms_that_nobody_knows_when_an_event_arrives() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    for q in [
        "status:dead",
        "duplicates:%3E1",
        "body:/a=1",
        "to:billing",
        "has:conflict",
        "until:1h",
        "nonsense:1",
    ] {
        let refused = site.get(&format!("events/stream?q={q}")).await;
        refused.assert_problem(400, "invalid_parameter");
    }
}
