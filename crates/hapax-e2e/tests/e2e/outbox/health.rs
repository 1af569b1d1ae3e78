//! An outbox in trouble is visible everywhere: in the doctor, the overview, the alerts and the metrics.

use super::app::{App, Row};
use super::{LIMIT, setup};
use hapax_test_postgres::{Server, Stop};
use hapax_testkit::{Service, Sink, eventually};

/// Alerts are evaluated three times a second, and an outbox may not be down at all.
const ALERTS: &str = "[alerts]\nresolve_after = \"1s\"\noutbox_down = \"1ms\"\n";

async fn until_firing(service: &Service, alert: &str, fires: bool) {
    let line = format!("hapax_alert_firing{{alert=\"{alert}\",subject=\"shop\"}} 1");
    eventually("the alert is judged", LIMIT, async || {
        let metrics = service.admin("/metrics").await.text();
        (metrics.contains(&line) == fires).then_some(())
    })
    .await;
}

async fn metric(service: &Service, line: &str) {
    eventually("the metric says so", LIMIT, async || {
        let metrics = service.admin("/metrics").await.text();
        metrics.lines().any(|found| found == line).then_some(())
    })
    .await;
}

async fn until_attention(service: &Service, kind: &str) -> String {
    eventually("the overview says so", LIMIT, async || {
        let overview = service.api("overview").await;
        let attention = overview["attention"].as_array()?;
        let found = attention.iter().find(|one| one["kind"] == kind)?;
        Some(found["sentence"].as_str()?.to_owned())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_rows_are_seen_by_doctor_overview_alerts_and_metrics_until_they_are_retried() {
    for app in [App::postgres().await, App::sqlite()] {
        let sink = Sink::start().await;
        let service = setup(&app, &sink).table(ALERTS).start().await;
        app.write(&Row::http(&sink.url(), "good")).await;
        sink.until_effects(1, LIMIT).await;
        service.hapax(&["doctor"]).await.assert_code(0);
        metric(&service, "hapax_outbox_up{outbox=\"shop\"} 1").await;
        metric(&service, "hapax_outbox_rows{outbox=\"shop\",state=\"relayed\"} 2").await;

        app.write(&Row::destination("nowhere", "bad").in_order("a")).await;
        until_firing(&service, "outbox_refused", true).await;
        metric(&service, "hapax_outbox_rows{outbox=\"shop\",state=\"refused\"} 1").await;
        metric(
            &service,
            "hapax_outbox_relay_results_total{outbox=\"shop\",result=\"refused\"} 1",
        )
        .await;
        let sentence = until_attention(&service, "outbox_refused").await;
        assert!(
            sentence.starts_with("1 refused row of the outbox shop"),
            "{sentence}"
        );
        let overview = service.api("overview").await;
        let shown = &overview["outboxes"][0];
        assert_eq!(
            (&shown["refused"], &shown["waiting"]),
            (&1.into(), &1.into()),
            "{shown}"
        );
        let found = service.hapax(&["doctor"]).await;
        found.assert_code(5);
        assert!(found.stdout.contains("hapax outbox retry"), "{found:#?}");

        app.redirect("nowhere", "app").await;
        let listed = service.hapax(&["outbox", "list", "--json"]).await.json();
        let id = listed["outboxes"][0]["refused_rows"][0]["id"].to_string();
        service.hapax(&["outbox", "retry", &id]).await.assert_code(0);
        sink.until_effects(2, LIMIT).await;
        until_firing(&service, "outbox_refused", false).await;
        service.hapax(&["doctor"]).await.assert_code(0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_an_outbox_that_is_down_is_seen_by_doctor_overview_alerts_and_metrics() {
    let sink = Sink::start().await;
    let server = Server::private(&[]).unwrap();
    let app = App::on(&server).await;
    let service = setup(&app, &sink).table(ALERTS).start().await;
    app.write(&Row::http(&sink.url(), "before")).await;
    sink.until_effects(1, LIMIT).await;
    server.stop(Stop::Immediate).unwrap();
    until_firing(&service, "outbox_down", true).await;
    metric(&service, "hapax_outbox_up{outbox=\"shop\"} 0").await;
    let sentence = until_attention(&service, "outbox_down").await;
    assert!(sentence.contains("The outbox shop cannot be used"), "{sentence}");
    let found = service.hapax(&["doctor"]).await;
    found.assert_code(5);
    assert!(found.stdout.contains("outbox shop"), "{found:#?}");
    server.start().unwrap();
    app.reconnect().await;
    app.write(&Row::http(&sink.url(), "after")).await;
    sink.until_effects(2, LIMIT).await;
    until_firing(&service, "outbox_down", false).await;
    service.hapax(&["doctor"]).await.assert_code(0);
}
