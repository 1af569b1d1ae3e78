//! Reading ledger entries, and forgetting them.

use super::site::{Mood, Site};

fn encoded(text: &str) -> String {
    text.bytes()
        .fold(String::new(), |encoded, byte| format!("{encoded}%{byte:02X}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn any_id_is_found_under_its_own_name() {
    let site = Site::start().await;
    for event_id in [
        "evt_1",
        "a/b",
        "/",
        "a//b/",
        "50%25",
        "part%3A1:part 2",
        "é☃",
        "?x=1&y#z",
        "..",
        "+",
        "\\",
    ] {
        let id = site.accept(event_id).await.id();
        let entry = site
            .get(&format!("ledger/stripe/{}", encoded(event_id)))
            .await
            .ok();
        assert_eq!(
            (entry["event_id"].as_str(), entry["id"].as_str()),
            (Some(event_id), Some(&*id.to_string()))
        );
    }
    // A slash needs no encoding, and only one level of encoding is removed.
    assert_eq!(site.get("ledger/stripe/a/b").await.ok()["event_id"], "a/b");
    assert_eq!(site.get("ledger/stripe/50%2525").await.ok()["event_id"], "50%25");
    site.get("ledger/stripe/50%25")
        .await
        .assert_problem(404, "ledger_entry_not_found");
    site.get("ledger/stripe/%ff")
        .await
        .assert_problem(400, "invalid_parameter");
    site.get("ledger/stripe/")
        .await
        .assert_problem(404, "unknown_path");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scope_comes_from_the_configuration() {
    let site = Site::start().await;
    site.accept_as("payments", "evt_1", "{}").await;
    let entry = site.get("ledger/payments/evt_1").await.ok();
    assert_eq!(
        (entry["source"].as_str(), entry["scope"].as_str()),
        (Some("payments"), Some("money"))
    );
    site.get("ledger/money/evt_1")
        .await
        .assert_problem(404, "unknown_source");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_id_is_new_again_and_unfinished_work_is_not_forgotten() {
    let site = Site::start().await;
    site.accept_until("evt/1", "completed").await;
    assert_eq!(site.accept("evt/1").await.status(), "duplicate");
    let forgotten = site.delete("ledger/stripe/evt%2F1").await.ok();
    assert_eq!(forgotten["next_generation"], 1);
    site.get("ledger/stripe/evt%2F1")
        .await
        .assert_problem(404, "ledger_entry_not_found");
    site.delete("ledger/stripe/evt%2F1")
        .await
        .assert_problem(404, "ledger_entry_not_found");
    assert_eq!(site.accept("evt/1").await.status(), "accepted");

    site.mood(Mood::Silent);
    site.accept("evt_2").await;
    site.delete("ledger/stripe/evt_2")
        .await
        .assert_problem(409, "deliveries_unfinished");
    assert_eq!(site.accept("evt_2").await.status(), "duplicate");
    site.delete("ledger/nobody/evt_2")
        .await
        .assert_problem(404, "unknown_source");
}
