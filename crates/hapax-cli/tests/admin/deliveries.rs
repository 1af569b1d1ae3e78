//! Dead letters.

use serde_json::json;

use super::site::{Mood, Site};

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_listed_discarded_and_restored() {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    let first = site.accept_until("evt_1", "dead").await;
    let second = site.accept_until("evt_2", "dead").await;
    let listed = site.get("deliveries?status=dead&destination=billing").await.ok();
    let events: Vec<_> = listed["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["event"].clone())
        .collect();
    assert_eq!(events, [json!(second), json!(first)]);
    assert_eq!(listed["deliveries"][0]["error"], "refused");
    assert_eq!(
        site.get("deliveries?destination=ledger").await.ok()["deliveries"],
        json!([])
    );

    let named = json!({ "deliveries": [{ "event": first, "destination": "billing" }] });
    assert_eq!(site.post("deliveries/discard", &named).await.ok()["changed"], 1);
    assert_eq!(site.post("deliveries/discard", &named).await.ok()["changed"], 0);
    let discarded = site.get("deliveries?status=discarded").await.ok();
    assert_eq!(discarded["deliveries"][0]["event"], json!(first));
    let whole = json!({ "deliveries": [{ "event": first }] });
    assert_eq!(site.post("deliveries/restore", &whole).await.ok()["changed"], 1);

    let all = json!({ "query": { "destination": "billing" } });
    assert_eq!(
        site.post("deliveries/discard", &all).await.ok(),
        json!({ "changed": 2, "more": false })
    );
    assert_eq!(
        site.get("deliveries?status=dead").await.ok()["deliveries"],
        json!([])
    );
    assert_eq!(
        site.post("deliveries/restore", json!({ "query": {} })).await.ok()["changed"],
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_choice_that_is_none_is_refused() {
    let site = Site::start().await;
    site.post("deliveries/discard", "")
        .await
        .assert_problem(400, "invalid_parameter");
    let both = json!({ "deliveries": [{ "event": "01940000-0000-7000-8000-000000000001" }], "query": {} });
    site.post("deliveries/discard", both)
        .await
        .assert_problem(400, "invalid_parameter");
    let absent = json!({ "deliveries": [{ "event": "01940000-0000-7000-8000-000000000001" }] });
    site.post("deliveries/restore", absent)
        .await
        .assert_problem(404, "event_not_found");
    let many: Vec<_> = (0..1001)
        .map(|_| json!({ "event": "01940000-0000-7000-8000-000000000001" }))
        .collect();
    site.post("deliveries/discard", json!({ "deliveries": many }))
        .await
        .assert_problem(400, "invalid_parameter");
}
