//! `hapax dead`, `forget`, `pause`, `resume`, `stats`, `doctor`.

use std::time::Duration;

use serde_json::json;

use hapax_testkit::{Reply, Sender, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_dead_letter_can_be_discarded_and_restored() {
    let sink = Sink::that(|_| Reply::Status(410)).await;
    let service = Setup::stripe_to(&sink).start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    service.until_event_is(&id, "dead", LIMIT).await;
    let dead = async || {
        service.hapax(&["dead", "list", "--json"]).await.json()["deliveries"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(dead().await, 1);
    let text = service.hapax(&["dead", "list"]).await;
    assert!(
        text.stdout.contains(&id) && text.stdout.contains("app"),
        "{text:#?}"
    );

    let discarded = service.hapax(&["dead", "discard", &id, "--json"]).await.json();
    assert_eq!((discarded["changed"].as_u64(), dead().await), (Some(1), 0));
    let restored = service.hapax(&["dead", "restore", &id, "--json"]).await.json();
    assert_eq!((restored["changed"].as_u64(), dead().await), (Some(1), 1));
}

#[tokio::test]
async fn a_forgotten_event_is_accepted_again_under_a_new_key() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let first = service.deliver_twice(&delivery).await;
    service.until_event_is(&first, "completed", LIMIT).await;

    let forgotten = service
        .hapax(&["forget", "stripe", "evt_1", "--json"])
        .await
        .json();
    assert_eq!(
        (&forgotten["event_id"], &forgotten["next_generation"]),
        (&json!("evt_1"), &json!(1))
    );
    let second = service.deliver_twice(&delivery).await;
    assert_ne!(first, second);
    sink.until_effects(2, LIMIT).await;
    assert_eq!(
        (sink.effects().len(), sink.applications()),
        (2, 2),
        "a new key takes effect again"
    );

    service
        .hapax(&["forget", "stripe", "evt_unknown"])
        .await
        .assert_code(4);
    service.hapax(&["forget", "nobody", "evt_1"]).await.assert_code(4);
}

#[tokio::test]
async fn forgetting_is_refused_while_work_is_unfinished() {
    let sink = Sink::that(|_| Reply::Status(500)).await;
    let service = Setup::stripe_to_with(&sink, "max_attempts = 100").start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    service.deliver_twice(&delivery).await;
    let refused = service.hapax(&["forget", "stripe", "evt_1"]).await;
    refused.assert_code(1);
    assert!(refused.stderr.contains("unfinished"), "{refused:#?}");
    service.deliver(&delivery).await.assert_durable("duplicate");
}

#[tokio::test]
async fn pause_and_resume_name_their_destination_and_an_unknown_one_ends_with_4() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let paused = service
        .hapax(&["pause", "app", "--json", "--reason", "a move"])
        .await
        .json();
    assert_eq!(
        (&paused["destination_id"], &paused["why"]),
        (&json!("app"), &json!("a move"))
    );
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let resumed = service.hapax(&["resume", "app", "--json"]).await.json();
    assert_eq!(resumed["was_paused"], true);
    sink.until_effects(1, LIMIT).await;
    for verb in ["pause", "resume"] {
        let refused = service.hapax(&[verb, "nobody"]).await;
        refused.assert_code(4);
        assert!(refused.stderr.contains("nobody"), "{refused:#?}");
    }
}

#[tokio::test]
async fn stats_count_what_happened() {
    let sink =
        Sink::that(|request| Reply::Status(if request.event_id == "evt_dead" { 410 } else { 200 })).await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    let dead = service.deliver_twice(&sender.event("evt_dead")).await;
    service.deliver_twice(&sender.event("evt_1")).await;
    service
        .deliver(&sender.stripe_event("evt_1", "other", &json!({})))
        .await
        .assert_durable("conflict");
    service
        .deliver(&sender.event("evt_2").without_header("stripe-signature"))
        .await
        .assert_problem(401, "signature_missing");
    service.until_event_is(&dead, "dead", LIMIT).await;

    let stats = eventually("the counts are there", LIMIT, async || {
        let stats = service.hapax(&["stats", "--json"]).await.json();
        (stats["destinations"][0]["dead"] == 1).then_some(stats)
    })
    .await;
    let source = &stats["sources"][0];
    let counts = ["received", "accepted", "duplicates", "conflicts", "rejected"]
        .map(|name| source[name].as_u64().unwrap());
    assert_eq!(counts, [6, 2, 2, 1, 1], "{source}");
    assert_eq!(source["ledger_entries"], 2, "{source}");
    let text = service.hapax(&["stats"]).await;
    text.assert_code(0);
    assert!(
        text.stdout.contains("stripe") && text.stdout.contains("app"),
        "{text:#?}"
    );
    let metrics = service.admin("/metrics").await.text();
    for line in [
        "hapax_received_total{source=\"stripe\",result=\"accepted\"} 2",
        "hapax_received_total{source=\"stripe\",result=\"duplicate\"} 2",
        "hapax_received_total{source=\"stripe\",result=\"conflict\"} 1",
        "hapax_received_total{source=\"stripe\",result=\"rejected\"} 1",
        "hapax_rejected_total{source=\"stripe\",reason=\"signature_missing\"} 1",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line} is not in\n{metrics}"
        );
    }
}

#[tokio::test]
async fn stats_show_the_last_ten_minutes_of_the_process_that_answers() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    service.deliver_twice(&sender.event("evt_1")).await;
    service
        .deliver(&sender.event("evt_2").without_header("stripe-signature"))
        .await
        .assert_problem(401, "signature_missing");
    let recent = eventually("the attempt is counted", LIMIT, async || {
        let stats = service.hapax(&["stats", "--json"]).await.json();
        let recent = stats["ten_minutes"].clone();
        (recent["destinations"][0]["completed"] == 1).then_some(recent)
    })
    .await;
    let (source, destination) = (&recent["sources"][0], &recent["destinations"][0]);
    for (name, expected) in [
        ("source", json!("stripe")),
        ("events", json!(2)),
        ("duplicates", json!(1)),
        ("unproven", json!(1)),
        ("dedupe_ratio", json!(0.5)),
    ] {
        assert_eq!(source[name], expected, "{recent}");
    }
    assert_eq!(source["ack"]["count"], 2, "{recent}");
    assert_eq!(destination["took"]["count"], 1, "{recent}");
    for took in [&source["ack"], &destination["took"], &recent["store_write"]] {
        let [p50, p95, p99] = ["p50_ms", "p95_ms", "p99_ms"].map(|name| took[name].as_f64().unwrap());
        assert!(0.0 < p50 && p50 <= p95 && p95 <= p99, "{recent}");
    }
    assert!(recent["watched_seconds"].as_u64().unwrap() < 600, "{recent}");
    let text = service.hapax(&["stats"]).await;
    let heading = "the last ten minutes of the process that answers, which started";
    assert!(text.stdout.contains(heading), "{text:#?}");
}

#[tokio::test]
async fn doctor_finds_nothing_wrong_with_a_good_service_and_ends_with_5_where_it_does() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let healthy = service.hapax(&["doctor"]).await;
    healthy.assert_code(0);
    service.hapax(&["doctor", "--json"]).await.assert_code(0);

    let nobody = Sink::start().await.stop().await;
    let broken = Setup::new()
        .source("stripe", "stripe", "deliver_to = [\"app\"]")
        .http("app", &format!("http://{nobody}/"), "");
    broken.write();
    let found = hapax_testkit::run(broken.path(), &["doctor"]).await;
    found.assert_code(5);
    assert!(
        format!("{}{}", found.stdout, found.stderr).contains("app"),
        "it names what is wrong: {found:#?}"
    );
}
