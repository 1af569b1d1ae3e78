//! The shipped alert rules and Grafana dashboard name only metrics that exist, and the dashboard shows all of them.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use hapax_telemetry::catalogue::METRICS;
use serde_json::Value;

use hapax_testkit::promtool::promtool;

#[test]
fn the_dashboard_has_expressions_that_parse_and_a_panel_for_every_metric() {
    let dashboard = dashboard();
    let mut expressions = BTreeSet::new();
    gather(&dashboard, &mut expressions);
    assert!(expressions.len() > 20, "{expressions:?}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.yml");
    std::fs::write(&path, as_rules(&expressions)).unwrap();
    let said = promtool(&["check", "rules", path.to_str().unwrap()], "");
    assert!(said.contains("SUCCESS"), "{said}");
    let shown: BTreeSet<&str> = expressions.iter().flat_map(|text| names(text)).collect();
    let all: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(shown, all);
}

#[test]
fn the_dashboard_asks_for_its_source_of_data_and_lets_one_choose() {
    let dashboard = dashboard();
    assert_eq!(dashboard["__inputs"][0]["name"], "DS_PROMETHEUS");
    let variables: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    assert_eq!(variables, ["source", "destination"]);
    let ids: Vec<&Value> = dashboard["panels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|panel| &panel["id"])
        .collect();
    let distinct: BTreeSet<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), ids.len(), "two panels have one id");
    for panel in dashboard["panels"].as_array().unwrap() {
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${DS_PROMETHEUS}", "{panel}");
            assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{panel}");
            assert!(panel["description"].is_string(), "{panel}");
        }
    }
}

#[test]
fn every_rule_names_metrics_that_exist_and_says_what_to_do() {
    let text = std::fs::read_to_string(rules()).unwrap();
    let all: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let named: BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(names)
        .collect();
    assert!(named.is_subset(&all), "{:?}", named.difference(&all));
    let count = |what: &str| text.lines().filter(|line| line.trim().starts_with(what)).count();
    let alerts = count("- alert: Hapax");
    for part in [
        "severity: ",
        "summary: ",
        "description: ",
        concat!(
            "runbook_url: ",
            env!("CARGO_PKG_REPOSITORY"),
            "/blob/main/docs/guides/alerts.md#"
        ),
    ] {
        assert_eq!(count(part), alerts, "{part}");
    }
}

#[test]
fn the_guide_to_monitoring_counts_the_rules_right() {
    let rules = std::fs::read_to_string(rules()).unwrap();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/monitoring.md");
    let line = format!("{} rules, all healthy", rules.matches("- alert: ").count());
    assert!(std::fs::read_to_string(guide).unwrap().contains(&line), "{line}");
}

#[test]
fn every_rule_has_its_place_in_the_guide_to_alerts() {
    let text = std::fs::read_to_string(rules()).unwrap();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/alerts.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let anchors: BTreeSet<String> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|heading| heading.to_lowercase().replace(' ', "-"))
        .collect();
    let linked: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("runbook_url: ")?.split_once('#'))
        .map(|(_, anchor)| anchor.to_owned())
        .collect();
    assert_eq!(linked.len(), 14, "each has its own: {linked:?}");
    assert!(linked.is_subset(&anchors), "{:?}", linked.difference(&anchors));
}

fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana/hapax.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every expression in the document, at any depth.
fn gather(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(expression) = fields.get("expr").and_then(Value::as_str) {
                found.insert(expression.to_owned());
            }
            fields.values().for_each(|value| gather(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The expressions as a rules file, with values in place of Grafana's variables.
fn as_rules(expressions: &BTreeSet<String>) -> String {
    let mut text = "groups:\n  - name: dashboard\n    rules:\n".to_owned();
    for (number, expression) in expressions.iter().enumerate() {
        let expression = expression
            .replace("$__rate_interval", "5m")
            .replace("$source", "stripe")
            .replace("$destination", "app");
        assert!(!expression.contains('$'), "{expression}");
        let quoted = serde_json::to_string(&expression).unwrap();
        writeln!(
            text,
            "      - record: expression_{number}\n        expr: {quoted}"
        )
        .unwrap();
    }
    text
}

/// The metrics that a string names, without the suffixes that a histogram adds.
fn names(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = words.filter(|word| word.starts_with("hapax_"));
    ours.map(|word| {
        let base = ["_bucket", "_sum", "_count"]
            .into_iter()
            .find_map(|suffix| word.strip_suffix(suffix));
        base.filter(|base| METRICS.iter().any(|metric| metric.name == *base))
            .unwrap_or(word)
    })
    .collect()
}

fn rules() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/prometheus/rules.yml")
}
