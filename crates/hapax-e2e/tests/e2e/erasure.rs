//! `hapax erase`: the events' data is gone, from every response and from the disk, and a duplicate is still a
//! duplicate.

use std::time::Duration;

use serde_json::json;

use hapax_testkit::{Gate, Reply, Sender, Setup, Sink};

const PATIENCE: Duration = Duration::from_secs(20);
const SECRET: &str = "ada-7f2c@example.com";

#[tokio::test(flavor = "multi_thread")]
async fn erased_events_are_gone_from_the_disk_and_still_duplicates() {
    // A body of this length does not fit into a page: it has its own pages.
    let filler = "x".repeat(20_000);
    let sink = Sink::start().await;
    let mut service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    let object = |email: &str| json!({ "email": email, "filler": filler });
    let erased = sender.stripe_event("evt_erased", "customer.updated", &object(SECRET));
    let kept = sender.stripe_event("evt_kept", "customer.updated", &object("kept@example.com"));
    let id = service.deliver_twice(&erased).await;
    let other = service.deliver_twice(&kept).await;
    for id in [&id, &other] {
        service.until_event_is(id, "completed", PATIENCE).await;
    }
    let conflict = sender.stripe_event("evt_erased", "customer.updated", &json!({ "was": SECRET }));
    service.deliver(&conflict).await.assert_durable("conflict");

    let query = format!("source:stripe body:/data/object/email={SECRET}");
    let unasked = service.hapax(&["erase", "-q", &query]).await;
    unasked.assert_code(2);
    assert!(unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    for erased in ["1 event erased", "0 events erased"] {
        let outcome = service.hapax(&["erase", "-q", &query, "--yes"]).await;
        outcome.assert_code(0);
        assert!(outcome.stdout.contains(erased), "{}", outcome.stdout);
    }
    let event = service.api(&format!("events/{id}")).await;
    assert_eq!(event["is_erased"], true, "{event}");
    assert_eq!(event["conflicts"], json!([]), "{event}");
    assert_eq!(service.api(&format!("events/{other}")).await["is_erased"], false);
    service.deliver(&erased).await.assert_durable("duplicate");
    let replayed = service.hapax(&["replay", &id, "--mode", "force"]).await;
    assert!(
        replayed.stderr.contains("there is no event"),
        "{}",
        replayed.stderr
    );
    let audit = service.api("audit").await.to_string();
    assert!(audit.contains("erase") && !audit.contains(SECRET), "{audit}");

    service.stop().await;
    for entry in std::fs::read_dir(service.setup.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let holds = bytes
                .windows(SECRET.len())
                .any(|window| window == SECRET.as_bytes());
            assert!(!holds, "{}", path.display());
        }
    }
    assert_eq!(sink.applications(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_deliveries_end_as_discarded_only_on_purpose() {
    let gate = Gate::closed();
    let held = gate.clone();
    let sink = Sink::that(move |_| Reply::Behind(held.clone(), 200)).await;
    let service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let id = service.deliver_twice(&delivery).await;
    let refused = service.hapax(&["erase", "-q", "source:stripe", "--yes"]).await;
    refused.assert_code(1);
    assert!(
        refused.stderr.contains("--discard-unfinished"),
        "{}",
        refused.stderr
    );
    let erased = service
        .hapax(&["erase", "-q", "source:stripe", "--yes", "--discard-unfinished"])
        .await;
    erased.assert_code(0);
    let event = service.api(&format!("events/{id}")).await;
    assert_eq!(event["deliveries"][0]["status"], "discarded", "{event}");
    gate.open();
    let after = service.hapax(&["events", "show", &id]).await;
    assert!(after.stdout.contains("erased"), "{}", after.stdout);
}
