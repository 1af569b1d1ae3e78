//! `hapax events list / show / payload / tail`.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use hapax_testkit::{Reply, Sender, Setup, Sink, command_in, within};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn events_are_listed_filtered_and_paged() {
    let sink = Sink::that(|request| Reply::Status(if request.event_id == "evt_3" { 410 } else { 200 })).await;
    let setup = Setup::stripe_to(&sink).source("github", "github", "");
    let service = setup.start().await;
    let stripe = Sender::of("stripe");
    let mut ids = Vec::new();
    for number in 0..5 {
        let kind = if number % 2 == 0 {
            "invoice.paid"
        } else {
            "charge.refunded"
        };
        ids.push(
            service
                .deliver_twice(&stripe.stripe_event(&format!("evt_{number}"), kind, &json!({})))
                .await,
        );
    }
    service.deliver_twice(&Sender::of("github").event("guid")).await;
    service.until_event_is(&ids[3], "dead", LIMIT).await;
    for id in [&ids[0], &ids[1], &ids[2], &ids[4]] {
        service.until_event_is(id, "completed", LIMIT).await;
    }

    let list = async |arguments: &[&str]| -> Vec<String> {
        let all = [&["events", "list", "--json"], arguments].concat();
        let page = service.hapax(&all).await.json();
        page["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["event_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        list(&[]).await,
        ["guid", "evt_4", "evt_3", "evt_2", "evt_1", "evt_0"]
    );
    assert_eq!(list(&["--source", "github"]).await, ["guid"]);
    assert_eq!(list(&["--status", "dead"]).await, ["evt_3"]);
    assert_eq!(list(&["--type", "invoice.*"]).await, ["evt_4", "evt_2", "evt_0"]);
    assert_eq!(list(&["--event-id", "evt_2"]).await, ["evt_2"]);
    assert_eq!(list(&["--since", "1h", "--source", "stripe"]).await.len(), 5);
    assert!(list(&["--until", "1h"]).await.is_empty());
    assert!(list(&["--source", "nobody"]).await.is_empty());

    let first = service
        .hapax(&["events", "list", "--json", "--limit", "4"])
        .await
        .json();
    let cursor = first["next"].as_str().unwrap();
    assert_eq!(
        list(&["--limit", "4", "--cursor", cursor]).await,
        ["evt_1", "evt_0"]
    );
}

#[tokio::test]
async fn one_event_is_shown_with_its_deliveries_attempts_and_duplicates() {
    let sink = Sink::that_first(|| Reply::Status(500)).await;
    let service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe")
        .event("evt_1")
        .with_header("authorization", "Bearer hidden-thing");
    let id = service.deliver_twice(&delivery).await;
    service.until_event_is(&id, "completed", LIMIT).await;
    let shown = service.hapax(&["events", "show", &id, "--json"]).await.json();
    assert_eq!(
        (&shown["id"], &shown["event_id"], &shown["source"]),
        (&json!(id), &json!("evt_1"), &json!("stripe"))
    );
    assert_eq!(shown["deliveries"][0]["status"], "completed");
    assert_eq!(
        shown["deliveries"][0]["idempotency_key"],
        json!(sink.received()[0].key)
    );
    assert_eq!(shown["attempts"].as_array().map(Vec::len), Some(2));
    assert!(
        !shown.to_string().contains("hidden-thing"),
        "credentials are not shown: {shown}"
    );
    let text = service.hapax(&["events", "show", &id]).await;
    text.assert_code(0);
    assert!(
        text.stdout.contains("evt_1") && text.stdout.contains("completed"),
        "{text:#?}"
    );

    let copies = hapax_testkit::eventually("the copy is counted", LIMIT, async || {
        let event = service.api(&format!("events/{id}")).await;
        event["duplicates"]["count"].as_u64()
    })
    .await;
    assert_eq!(copies, 1);
}

#[tokio::test]
async fn a_payload_comes_back_byte_for_byte() {
    let service = Setup::new().source("github", "github", "").start().await;
    let body: Vec<u8> = (0..=255_u8).cycle().take(10_000).collect();
    let id = service
        .deliver_twice(&Sender::of("github").with_body("guid", body.clone()))
        .await;
    let output = command_in(service.setup.path())
        .args(["events", "payload", &id])
        .output()
        .await
        .unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), body));
}

#[tokio::test]
async fn an_event_that_is_not_there_ends_with_4_and_an_id_that_is_none_with_2() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    let missing = "01940000-0000-7000-8000-000000000001";
    for verb in ["show", "payload"] {
        let refused = service.hapax(&["events", verb, missing]).await;
        refused.assert_code(4);
        assert!(
            refused.stderr.contains(missing) && refused.stdout.is_empty(),
            "{refused:#?}"
        );
        service.hapax(&["events", verb, "no-uuid"]).await.assert_code(2);
    }
}

#[tokio::test]
async fn the_tail_shows_arrivals_as_they_come_and_what_became_of_each() {
    let service = Setup::new()
        .source("stripe", "stripe", "")
        .source("github", "github", "")
        .start()
        .await;
    let mut tail = command_in(service.setup.path())
        .args(["events", "tail", "--json", "--source", "stripe"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    // The tail shows only new events: deliver until it shows something.
    let sender = Sender::of("stripe");
    let mut began = false;
    for number in 0..1000 {
        service
            .deliver_twice(&sender.event(&format!("evt_{number}")))
            .await;
        if tokio::time::timeout(Duration::from_millis(50), lines.next_line())
            .await
            .is_ok()
        {
            began = true;
            break;
        }
    }
    assert!(began, "the tail shows arrivals");
    service.deliver_twice(&Sender::of("github").event("guid_1")).await;
    service.deliver_twice(&sender.event("evt_last")).await;
    let mut statuses = Vec::new();
    while statuses.len() < 2 {
        let line = within("both arrivals are shown", LIMIT, lines.next_line()).await;
        let shown: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
        assert_eq!(shown["source"], "stripe", "{shown}");
        if shown["event_id"] == "evt_last" {
            statuses.push(shown["status"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(statuses, ["accepted", "duplicate"]);
    tail.kill().await.unwrap();
}
