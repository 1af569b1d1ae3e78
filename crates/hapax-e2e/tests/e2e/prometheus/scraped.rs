//! A real Prometheus scrapes a service under load, with the shipped rules.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::server::{Prometheus, rules};
use hapax_testkit::{Repeated, Reply, Sender, Service, Setup, Sink, deliver_all, eventually};

/// A scrape every second, the store's counts cached for five, and a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Events of one wave of the load, each delivered twice.
const WAVE: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_is_loaded_and_the_counters_agree_with_what_was_sent() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let prometheus = Prometheus::scraping(service.setup.admin).await;
    let events = load_until_seen(&service, &prometheus).await;
    sink.until_effects(events, LIMIT).await;
    for (expression, expected) in [
        ("up{job=\"hapax\"}", 1),
        (
            "hapax_received_total{source=\"stripe\",result=\"accepted\"}",
            events,
        ),
        (
            "hapax_received_total{source=\"stripe\",result=\"duplicate\"}",
            events,
        ),
        ("hapax_received_total{source=\"stripe\",result=\"rejected\"}", 0),
        ("hapax_ack_seconds_count{source=\"stripe\"}", 2 * events),
        (
            "hapax_attempts_total{destination=\"app\",outcome=\"completed\"}",
            events,
        ),
        ("hapax_attempt_seconds_count{destination=\"app\"}", events),
        ("hapax_ledger_entries{source=\"stripe\"}", events),
        ("hapax_ledger_window_seconds{source=\"stripe\"}", 30 * 86_400),
        ("count(hapax_build_info)", 1),
    ] {
        until(&prometheus, expression, expected as f64).await;
    }
    every_rule_is_healthy(&prometheus).await;
    exemplars_lead_to_events(&prometheus, &service).await;
    assert_eq!(prometheus.log(), "", "Prometheus complained");
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_fire_their_rule_and_discarding_them_resolves_it() {
    let sink = Sink::that(|_| Reply::Status(410)).await;
    let service = Setup::stripe_to(&sink).start().await;
    let prometheus = Prometheus::scraping(service.setup.admin).await;
    until(&prometheus, "up{job=\"hapax\"}", 1.0).await;
    assert_eq!(firing(&prometheus).await, BTreeSet::new());
    let id = service
        .deliver_twice(&Sender::of("stripe").event("evt_gone"))
        .await;
    service.until_event_is(&id, "dead", LIMIT).await;
    eventually("the rule fires", LIMIT, async || {
        firing(&prometheus)
            .await
            .contains("HapaxDeadLetters")
            .then_some(())
    })
    .await;
    let alerts = prometheus.ask("alerts", &[]).await;
    let summary = &alerts["alerts"][0]["annotations"]["summary"];
    assert_eq!(summary, "Deliveries to app are dead", "{alerts}");
    service.hapax(&["dead", "discard", &id]).await.assert_code(0);
    eventually("the rule is resolved", LIMIT, async || {
        firing(&prometheus).await.is_empty().then_some(())
    })
    .await;
}

/// Sends waves until Prometheus has seen the counter grow over several scrapes. Returns how many events that took.
async fn load_until_seen(service: &Service, prometheus: &Prometheus) -> usize {
    let grew = "changes(hapax_received_total{source=\"stripe\",result=\"accepted\"}[1m])";
    let mut events = 0;
    eventually("Prometheus sees the load", LIMIT, async || {
        wave(service, events).await;
        events += WAVE;
        (prometheus.value(grew).await? >= 3.0).then_some(())
    })
    .await;
    events
}

async fn wave(service: &Service, first: usize) {
    let sender = Sender::of("stripe");
    let copies = Repeated {
        deliveries: (first..first + WAVE)
            .map(|number| sender.event(&format!("evt_{number}")))
            .collect(),
        each: 2,
        connections: 4,
    };
    deliver_all(service.address(), copies).await;
}

async fn until(prometheus: &Prometheus, expression: &str, expected: f64) {
    let what = format!("{expression} is {expected}");
    eventually(&what, LIMIT, async || {
        let found = prometheus.value(expression).await?;
        ((found - expected).abs() < f64::EPSILON).then_some(())
    })
    .await;
}

/// Every rule in the file was evaluated at least once without an error.
async fn every_rule_is_healthy(prometheus: &Prometheus) {
    let text = std::fs::read_to_string(rules()).unwrap();
    let named: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .map(str::to_owned)
        .collect();
    assert_eq!(named.len(), 14);
    let healthy = eventually("every rule was judged", LIMIT, async || {
        let found = prometheus.ask("rules", &[]).await;
        let groups = found["groups"].as_array()?.clone();
        let rules: Vec<Value> = groups
            .iter()
            .flat_map(|group| group["rules"].as_array().unwrap().clone())
            .collect();
        rules
            .iter()
            .all(|rule| rule["health"] != "unknown")
            .then_some(rules)
    })
    .await;
    for rule in &healthy {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
    let loaded: BTreeSet<String> = healthy
        .iter()
        .map(|rule| rule["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(loaded, named);
}

/// Each histogram about events has exemplars, and each exemplar is an event that can be opened.
async fn exemplars_lead_to_events(prometheus: &Prometheus, service: &Service) {
    for metric in [
        "hapax_ack_seconds_bucket",
        "hapax_attempt_seconds_bucket",
        "hapax_duplicate_age_seconds_bucket",
    ] {
        let found = prometheus
            .ask(
                "query_exemplars",
                &[("query", metric), ("start", "0"), ("end", "9999999999")],
            )
            .await;
        let ids: BTreeSet<&str> = found
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|series| series["exemplars"].as_array().unwrap())
            .map(|exemplar| exemplar["labels"]["event_id"].as_str().unwrap())
            .collect();
        assert!(!ids.is_empty(), "{metric} has no exemplar: {found}");
        for id in ids {
            let event = service.api(&format!("events/{id}")).await;
            assert_eq!(event["source"], "stripe", "{event}");
        }
    }
}

async fn firing(prometheus: &Prometheus) -> BTreeSet<String> {
    let found = prometheus.ask("alerts", &[]).await;
    let alerts = found["alerts"].as_array().unwrap();
    alerts
        .iter()
        .filter(|alert| alert["state"] == "firing")
        .map(|alert| alert["labels"]["alertname"].as_str().unwrap().to_owned())
        .collect()
}
