//! `hapax replay`, one by one and in bulk.

use std::collections::BTreeSet;
use std::time::Duration;

use hapax_testkit::{Reply, Sender, Service, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(30);

async fn dead_events(service: &Service, count: usize) -> Vec<String> {
    let sender = Sender::of("stripe");
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(
            service
                .deliver_twice(&sender.event(&format!("evt_{number}")))
                .await,
        );
    }
    for id in &ids {
        service.until_event_is(id, "dead", LIMIT).await;
    }
    ids
}

#[tokio::test]
async fn a_bulk_replay_brings_back_every_dead_letter_and_shows_its_progress_in_plain_lines() {
    let sink = Sink::that(|_| Reply::Status(410)).await;
    let service = Setup::stripe_to(&sink).start().await;
    let ids = dead_events(&service, 30).await;
    sink.behave(|_| Reply::Status(200));

    let query = [
        "replay", "--status", "dead", "--source", "stripe", "--since", "1h",
    ];
    let preview = service
        .hapax(&[&query[..], &["--dry-run", "--json"]].concat())
        .await
        .json();
    assert_eq!(
        (&preview["matched"], &preview["dry_run"]),
        (&30.into(), &true.into()),
        "{preview}"
    );
    assert_eq!(sink.received().len(), 30, "a dry run does nothing");

    let replayed = service.hapax(&query).await;
    replayed.assert_code(0);
    assert!(replayed.stdout.contains("30 events"), "{replayed:#?}");
    assert!(
        !replayed.stderr.contains('\r') && !replayed.stderr.contains('\u{1b}'),
        "{replayed:#?}"
    );
    assert!(
        replayed.stderr.lines().count() >= 1,
        "progress goes to stderr: {replayed:#?}"
    );
    sink.until_effects(30, LIMIT).await;
    sink.assert_one_key_for_each_event();
    for id in &ids {
        service.until_event_is(id, "completed", LIMIT).await;
    }
    let again = service.hapax(&[&query[..], &["--json"]].concat()).await;
    again.assert_code(0);
    assert_eq!(
        sink.applications(),
        30,
        "what is not dead is not replayed: {again:#?}"
    );
    let audit = service.api("audit").await;
    assert!(
        audit["audit"]
            .as_array()
            .unwrap()
            .iter()
            .any(|entry| entry["action"].as_str().unwrap().contains("replay")),
        "{audit}"
    );
}

#[tokio::test]
async fn mode_all_repeats_under_the_same_key_and_force_under_a_new_one() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    service.until_event_is(&id, "completed", LIMIT).await;

    let nothing = service.hapax(&["replay", &id]).await;
    nothing.assert_code(1);
    assert!(
        nothing.stderr.contains("all"),
        "it says which mode would: {nothing:#?}"
    );

    service
        .hapax(&["replay", &id, "--mode", "all"])
        .await
        .assert_code(0);
    sink.until_received(2, LIMIT).await;
    service.until_event_is(&id, "completed", LIMIT).await;
    assert_eq!(
        sink.effects().len(),
        1,
        "a receiver that looks at the key applies it once"
    );

    service
        .hapax(&[
            "replay",
            &id,
            "--mode",
            "force",
            "--reason",
            "the receiver lost it",
        ])
        .await
        .assert_code(0);
    sink.until_received(3, LIMIT).await;
    service.until_event_is(&id, "completed", LIMIT).await;
    assert_eq!(sink.effects().len(), 2, "a forced one takes effect again");
    service
        .deliver(&Sender::of("stripe").event("evt_1"))
        .await
        .assert_durable("duplicate");
}

#[tokio::test]
async fn a_replay_reaches_a_destination_that_was_added_later() {
    let (first, later) = (Sink::start().await, Sink::start().await);
    let mut service = Setup::stripe_to(&first).start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    service.until_event_is(&id, "completed", LIMIT).await;
    let url = later.url();
    service.reload(|setup| setup.http("later", &url, ""));
    eventually("the destination is known", LIMIT, async || {
        service
            .api("destinations")
            .await
            .to_string()
            .contains("\"later\"")
            .then_some(())
    })
    .await;
    service
        .hapax(&["replay", &id, "--to", "later", "--mode", "all"])
        .await
        .assert_code(0);
    later.until_effects(1, LIMIT).await;
    assert_eq!(
        (first.received().len(), later.received()[0].event_id.as_str()),
        (1, "evt_1")
    );
    assert!(first.effects().is_disjoint(&later.effects()));
}

#[tokio::test]
async fn a_replay_of_unfinished_work_is_refused() {
    let sink = Sink::that(|_| Reply::Status(500)).await;
    let service = Setup::stripe_to_with(&sink, "max_attempts = 100").start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_received(1, LIMIT).await;
    let refused = service.hapax(&["replay", &id, "--mode", "all"]).await;
    refused.assert_code(1);
    assert!(refused.stderr.contains("unfinished"), "{refused:#?}");
    let missing = service
        .hapax(&["replay", "01940000-0000-7000-8000-000000000001"])
        .await;
    missing.assert_code(4);
}

#[tokio::test]
async fn named_events_are_replayed_one_by_one_with_a_line_of_json_for_each() {
    let sink = Sink::that(|_| Reply::Status(410)).await;
    let service = Setup::stripe_to(&sink).start().await;
    let ids = dead_events(&service, 3).await;
    sink.behave(|_| Reply::Status(200));
    let replayed = service
        .hapax(&["replay", &ids[0], &ids[1], &ids[2], "--json"])
        .await;
    let events: BTreeSet<String> = replayed
        .json_lines()
        .iter()
        .map(|line| line["event"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(events, ids.into_iter().collect());
    sink.until_effects(3, LIMIT).await;
}
