//! The metrics by name. None may be left out.

use hapax_core::store::{Backlog, LedgerCount};
use hapax_core::{
    AttemptOutcome, BodyHash, DeliveryState, EventIds, Headers, Identity, SystemClock, SystemRandom,
};
use hapax_engine::Accepted;

use super::super::catalogue::{Kind, METRICS};
use super::*;
use crate::outbox_health::Health;

const DAY: Duration = Duration::from_secs(86_400);

fn metrics() -> Metrics {
    let metrics = Metrics::new(Arc::new(SystemClock::default()));
    metrics.know([(&"stripe".into(), DAY)], [&"billing".into()]);
    metrics
}

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
}

/// Metrics with at least one value of every kind.
fn full() -> Metrics {
    let metrics = metrics();
    let now = Timestamp::from_seconds(1_000);
    let id = EventIds::default().next(now, Identity::new("stripe", "e").key(), &SystemRandom::new());
    let duplicate = Accepted::Duplicate {
        id,
        event_id: "e".to_owned(),
        first_seen: now,
    };
    let (source, age) = (SourceName::from("stripe"), Duration::from_secs(5));
    metrics.count(&Observation::Arrived {
        source: &source,
        accepted: &duplicate,
        age,
        raw_hash: Some(BodyHash::of(b"{}")),
        headers: &Headers::default(),
    });
    let attempted = Attempted {
        event: id,
        outcome: AttemptOutcome::Completed,
        took: Duration::from_millis(20),
    };
    metrics.destinations.load()[&"billing".into()].attempted(attempted, &*metrics.clock);
    metrics.rejected("stripe", Code::SignatureInvalid);
    metrics.rejected(UNKNOWN_SOURCE, Code::UnknownSource);
    metrics.unavailable(Code::Overloaded);
    metrics.alerts_firing(vec![("conflicts", "stripe".to_owned())]);
    metrics.alert_message("chat", "delivered");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hapax.toml");
    std::fs::write(&path, "[server]\nadmin_token = \"exec:echo a-token-of-sixteen\"").unwrap();
    let loader = hapax_config::Loader::new(&path, Vec::new());
    loader.load().unwrap();
    metrics.watch_secrets(loader.kept());
    metrics.reencrypted(1);
    metrics.encrypted_values(&hapax_seal::Counted {
        values: [("plain".to_owned(), 1)].into(),
        at: 0,
    });
    metrics.outbox_row("app", "relayed");
    metrics.outboxes(&[Health {
        name: "app".to_owned(),
        counts: Some(crate::outbox_health::Counts {
            refused: 2,
            oldest_at: Some(metrics.clock.now()),
            ..crate::outbox_health::Counts::default()
        }),
        trouble: Some(("gone".to_owned(), age)),
    }]);
    metrics
}

fn counts() -> Counts {
    Counts {
        backlog: vec![Backlog {
            destination: "billing".into(),
            state: DeliveryState::Retrying,
            count: 3,
            oldest: Some(Timestamp::from_seconds(940)),
        }],
        ledger: vec![LedgerCount {
            scope: "stripe".into(),
            entries: 7,
        }],
        ..Counts::default()
    }
}

#[test]
fn every_documented_name_is_there() {
    let now = Timestamp::from_seconds(1_000);
    let text = full().render(&counts(), now, Format::OpenMetrics);
    for line in [
        "hapax_received_total{source=\"stripe\",result=\"duplicate\"} 1",
        "hapax_received_total{source=\"stripe\",result=\"rejected\"} 1",
        "hapax_rejected_total{source=\"stripe\",reason=\"signature_invalid\"} 1",
        "hapax_rejected_total{source=\"(unknown)\",reason=\"unknown_source\"} 1",
        "hapax_ack_seconds_count{source=\"stripe\"} 0",
        "hapax_attempts_total{destination=\"billing\",outcome=\"completed\"} 1",
        "hapax_attempt_seconds_count{destination=\"billing\"} 1",
        "hapax_backlog{destination=\"billing\",state=\"retrying\"} 3",
        "hapax_oldest_pending_seconds{destination=\"billing\"} 60.0",
        "hapax_duplicate_age_seconds_sum{source=\"stripe\"} 5.0",
        "hapax_dedupe_ratio{source=\"stripe\"} 1.0",
        "hapax_dedupe_ratio_p95{source=\"stripe\"} 0.0",
        "hapax_duplicate_gap_max_seconds{source=\"stripe\"} 5.0",
        "hapax_ledger_window_seconds{source=\"stripe\"} 86400.0",
        "hapax_rejected_total{source=\"stripe\",reason=\"signature_missing\"} 0",
        "hapax_rejected_total{source=\"stripe\",reason=\"transmission_reused\"} 0",
        "hapax_unavailable_total{reason=\"store_unavailable\"} 0",
        "hapax_unavailable_total{reason=\"store_unsupported\"} 0",
        "hapax_ledger_entries{source=\"stripe\"} 7",
        "hapax_breaker_open{destination=\"billing\"} 0",
        "hapax_unavailable_total{reason=\"overloaded\"} 1",
        "hapax_outbox_up{outbox=\"app\"} 0",
        "hapax_outbox_rows{outbox=\"app\",state=\"refused\"} 2",
        "hapax_outbox_relay_results_total{outbox=\"app\",result=\"relayed\"} 1",
        "hapax_store_batch_size_count 0",
        "hapax_store_write_seconds_count 0",
    ] {
        has(&text, line);
    }
}

#[test]
fn a_backlog_that_is_gone_is_gone_from_the_gauges() {
    let metrics = metrics();
    let backlog = Backlog {
        destination: "billing".into(),
        state: DeliveryState::Pending,
        count: 1,
        oldest: None,
    };
    let counts = Counts {
        backlog: vec![backlog],
        ..Counts::default()
    };
    has(
        &metrics.render(&counts, Timestamp::default(), Format::Plain),
        "hapax_backlog{destination=\"billing\",state=\"pending\"} 1",
    );
    assert!(
        !metrics
            .render(&Counts::default(), Timestamp::default(), Format::Plain)
            .contains("hapax_backlog{")
    );
}

#[test]
fn what_left_the_configuration_leaves_no_gauge_behind_and_keeps_its_counters() {
    let metrics = metrics();
    metrics.count(&Observation::Breaker {
        destination: &"billing".into(),
        open_for: Some(DAY),
    });
    let now = Timestamp::default();
    let before = metrics.render(&Counts::default(), now, Format::Plain);
    has(&before, "hapax_breaker_open{destination=\"billing\"} 1");
    metrics.know([(&"github".into(), DAY)], [&"mail".into()]);
    let after = metrics.render(&Counts::default(), now, Format::Plain);
    for gone in ["stripe", "billing"] {
        let left: Vec<&str> = after
            .lines()
            .filter(|line| line.contains(gone) && is_gauge(line))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    has(&after, "hapax_breaker_open{destination=\"mail\"} 0");
    has(&after, "hapax_ledger_window_seconds{source=\"github\"} 86400.0");
    has(
        &after,
        "hapax_received_total{source=\"stripe\",result=\"accepted\"} 0",
    );
    assert_eq!(
        metrics.last_ten_minutes().sources.into_keys().collect::<Vec<_>>(),
        [SourceName::from("github")]
    );
}

#[test]
fn the_catalogue_has_exactly_what_is_exported() {
    let metrics = full();
    let text = metrics.render(&counts(), Timestamp::from_seconds(1_000), Format::Plain);
    let mut heads: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    let mut described: Vec<(&str, &str)> = METRICS
        .iter()
        .map(|metric| (metric.name, metric.kind.as_str()))
        .collect();
    heads.sort_unstable();
    described.sort_unstable();
    assert_eq!(heads, described);
    for metric in METRICS {
        assert!(
            !metric.help.is_empty() && !metric.meaning.is_empty(),
            "{metric:?}"
        );
        has(&text, &format!("# HELP {} {}.", metric.name, metric.help));
        let series = text
            .lines()
            .find(|line| line.starts_with(metric.name))
            .unwrap_or_else(|| panic!("{} has no series in\n{text}", metric.name));
        for label in metric.labels {
            assert!(series.contains(&format!("{label}=\"")), "{label} in {series}");
        }
    }
}

fn is_gauge(line: &str) -> bool {
    METRICS
        .iter()
        .filter(|metric| metric.kind == Kind::Gauge)
        .any(|metric| line.starts_with(&format!("{}{{", metric.name)))
}
