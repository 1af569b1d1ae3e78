//! The OpenAPI document and the API agree.

use serde_json::{Value, json};

use super::site::Site;

/// Every operation of the document, with made-up values in its path.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let filled = path
            .replace("{id}", "01940000-0000-7000-8000-000000000001")
            .replace("{hash}", &"0".repeat(64))
            .replace("{source}", "stripe")
            .replace("{event_id}", "evt_1")
            .replace("{name}", "nobody");
        for (method, operation) in item.as_object().unwrap() {
            found.push((method.to_ascii_uppercase(), filled.clone(), operation.clone()));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_described_path_of_the_api_is_closed_without_a_token_and_probes_are_open() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let document = site.get("openapi.json").await.ok();
    let mut closed = 0;
    for (method, path, operation) in operations(&document) {
        let answer = site.send(&method, &path, &[], "").await;
        if path.starts_with("/api/") {
            answer.assert_problem(401, "unauthorized");
            assert!(!operation["security"].is_null(), "{method} {path}");
            closed += 1;
        } else {
            assert_eq!(answer.status, 200, "{method} {path}");
        }
    }
    assert!(closed > 30, "{closed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_described_path_answers_a_status_and_a_type_that_it_describes() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let document = site.get("openapi.json").await.ok();
    for (method, path, operation) in operations(&document) {
        if path.ends_with("/stream") || (method == "DELETE" && path.contains("/ledger/")) {
            // The stream never ends; the other would delete entries that later paths need.
            continue;
        }
        let authorization = format!("Bearer {}", super::site::TOKEN);
        let headers = [("authorization", authorization.as_str())];
        let answer = site.send(&method, &path, &headers, "{}").await;
        let described = &operation["responses"][answer.status.to_string()];
        assert!(!described.is_null(), "{method} {path} answers {}", answer.status);
        let media_type = answer
            .header("content-type")
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let types = described["content"].as_object().unwrap();
        assert!(
            types.contains_key(&media_type) || types.contains_key("*/*"),
            "{method} {path}: {media_type}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_a_path_does_not_take_is_refused_with_those_that_it_takes() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let document = site.get("openapi.json").await.ok();
    let authorization = format!("Bearer {}", super::site::TOKEN);
    let headers = [("authorization", authorization.as_str())];
    for (_, path, _) in operations(&document) {
        let refused = site.send("PATCH", &path, &headers, "").await;
        refused.assert_problem(405, "method_not_allowed");
        let allowed = refused.header("allow").unwrap_or_default().to_ascii_uppercase();
        let template = document["paths"].as_object().unwrap().values();
        assert!(template.len() > 10);
        assert!(!allowed.is_empty(), "{path}: RFC 9110 wants `Allow`");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_says_which_codes_an_operation_answers() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let document = site.get("openapi.json").await.ok();
    let cancel = &document["paths"]["/api/v1/replays/{id}"]["delete"]["responses"];
    let codes = |status: &str| {
        let schema = &cancel[status]["content"]["application/problem+json"]["schema"];
        schema["allOf"][1]["properties"]["code"]["enum"].clone()
    };
    assert_eq!(codes("409"), json!(["replay_finished"]));
    assert_eq!(codes("404"), json!(["replay_not_found"]));
    assert_eq!(
        codes("403"),
        json!(["forbidden_origin", "sources_limited", "role_too_low"])
    );
    assert_eq!(document["openapi"], "3.1.0");
}

// Regression tests for findings of schemathesis.

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_holds_nothing_required_may_be_left_out_and_the_document_says_so() {
    let site = Site::start().await;
    site.accept_until("evt_1", "completed").await;
    site.accept("evt_1").await;
    let document = site.get("openapi.json").await.ok();
    let body = |path: &str, method: &str| document["paths"][path][method]["requestBody"]["required"].clone();
    assert_eq!(body("/api/v1/destinations/{name}/pause", "post"), json!(false));
    assert_eq!(body("/api/v1/searches/{name}", "put"), json!(true));
    assert_eq!(body("/api/v1/replays", "post"), json!(true));
    assert_eq!(body("/api/v1/deliveries/discard", "post"), json!(true));
    site.post("destinations/billing/pause", "").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_in_place_of_an_object_is_refused_and_replays_nothing() {
    let site = Site::start().await;
    let id = site.accept_until("evt_1", "completed").await;
    site.accept("evt_1").await;
    for body in ["[null,null]", "[\"all\"]", "null", "7"] {
        site.post(&format!("events/{id}/replay"), body)
            .await
            .assert_problem(400, "malformed_body");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_number_may_be_written_with_a_point() {
    let site = Site::start().await;
    site.accept_until("evt_1", "completed").await;
    site.accept("evt_1").await;
    let body = r#"{"query":"source:stripe","rate":151.0,"dry_run":true}"#;
    assert_eq!(site.post("replays", body).await.ok()["matched"], 1);
    let body = r#"{"query":"source:stripe","rate":151.5,"dry_run":true}"#;
    site.post("replays", body)
        .await
        .assert_problem(400, "malformed_body");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_choice_of_dead_letters_is_made_in_exactly_one_way() {
    let site = Site::start().await;
    let id = site.accept_until("evt_1", "completed").await;
    site.accept("evt_1").await;
    let both = json!({ "deliveries": [{ "event": id }], "query": {} });
    for body in [
        json!({}),
        json!({ "deliveries": [] }),
        json!({ "query": null }),
        both,
    ] {
        let refused = site.post("deliveries/discard", body).await;
        refused.assert_problem(400, "invalid_parameter");
    }
    let document = site.get("openapi.json").await.ok();
    let choice = &document["components"]["schemas"]["DeliveryChoice"];
    assert_eq!(
        (&choice["minProperties"], &choice["maxProperties"]),
        (&json!(1), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_bytes_is_described_without_a_schema_that_it_would_break() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let document = site.get("openapi.json").await.ok();
    for path in [
        "/api/v1/events/{id}/payload",
        "/api/v1/events/{id}/conflicts/{hash}/payload",
    ] {
        let schema = &document["paths"][path]["get"]["responses"]["200"]["content"]["*/*"]["schema"];
        assert!(schema["type"].is_null(), "{schema}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_a_view_is_described_as_it_is_checked() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    site.accept("evt_1").await;
    let query = json!({ "query": "status:dead" });
    for name in ["x%C2%82", "%20x", "x%20", "%7F"] {
        let refused = site.put(&format!("searches/{name}"), &query).await;
        refused.assert_problem(400, "invalid_parameter");
    }
    site.put("searches/a%20b", &query).await.ok();
    let document = site.get("openapi.json").await.ok();
    let name = &document["paths"]["/api/v1/searches/{name}"]["put"]["parameters"][0]["schema"];
    assert!(
        name["pattern"].as_str().unwrap().contains("\\x7f-\\x9f"),
        "{name}"
    );
}
