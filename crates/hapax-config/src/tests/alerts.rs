//! `[alerts]`: limits and receivers.

use std::time::Duration;

use hapax_core::Secret;

use super::*;
use hapax_api::alert::Rule;

#[test]
fn every_rule_has_its_default_where_nothing_is_written() {
    let alerts = parsed("").alerts;
    let limits: Vec<f64> = Rule::ALL.map(|rule| alerts.limits[&rule]).to_vec();
    assert_eq!(
        limits,
        [0.5, 5.0, 600.0, 0.0, 60.0, 0.0, 10.0, 0.8, 1.0, 60.0, 0.0, 600.0]
    );
    assert_eq!(alerts.resolve_after, Duration::from_secs(60));
    assert!(alerts.receivers.is_empty());
}

#[test]
fn limits_are_read_by_their_unit_and_false_switches_a_rule_off() {
    let alerts = parsed(FULL).alerts;
    for off in [Rule::Conflicts, Rule::OutboxWaiting] {
        assert_eq!(alerts.limits.get(&off), None);
    }
    let limits: Vec<f64> = alerts.limits.values().copied().collect();
    assert_eq!(limits, [0.25, 2.0, 300.0, 3.0, 30.0, 100.0, 1.0, 0.25, 30.0, 2.0]);
    let pager = &alerts.receivers["pager"];
    let ReceiverKind::Webhook { url, secret } = &pager.kind else {
        panic!("{pager:?}");
    };
    assert_eq!(*url, Secret::new("https://chat.example.com/services/hunter2"));
    assert!(secret.is_some());
    assert_eq!(alerts.receivers["chat"].timeout, Duration::from_secs(5));
}

#[test]
fn a_mistake_is_named_and_no_url_is_quoted() {
    let text = r#"
[alerts]
dedupe_rate = 1.5
handler_p95 = true
dead_letters = "none"
duplicate_gap = "much"
resolve_after = "10ms"
backlog = 3

[alerts.receivers.chat]
kind = "slack"
url = "ftp://chat.example.com/hunter2"
secret = "env:SIGNING"

[alerts.receivers.cloud]
kind = "webhook"
url = "http://169.254.169.254/hunter2"

[alerts.receivers.pager]
kind = "email"

[alerts.receivers.script]
kind = "command"
"#;
    let found = problems(text).join("\n");
    for part in [
        "alerts.dedupe_rate: expected a number from 0 to 1, such as 0.1 for a tenth",
        "alerts.handler_p95: expected a string in quotes, found true or false",
        "alerts.dead_letters: expected a whole number from 0 to 1000000000, found a string",
        "alerts.duplicate_gap: expected a number from 0 to 1, such as 0.1 for a tenth",
        "alerts.resolve_after: \"10ms\" is not between 1s and 1d",
        "[alerts] has no key `backlog`",
        "alerts.receivers.chat.secret: does not apply to a receiver of kind \"slack\"; remove it",
        "alerts.receivers.chat.url: expected an http:// or https:// URL",
        "alerts.receivers.cloud.url: expected an http:// or https:// URL",
        "alerts.receivers.pager.kind: \"email\" is not one of \"slack\", \"webhook\", \"command\"",
        "alerts.receivers.script: `command` is missing",
    ] {
        assert!(found.contains(part), "{part} in\n{found}");
    }
    assert!(!found.contains("hunter2"), "{found}");
}

#[test]
fn what_is_shown_has_every_limit_and_hides_every_url() {
    let config = parsed(FULL);
    let shown = config.to_toml();
    for line in [
        "dedupe_rate = 0.25",
        "handler_p95 = \"2s\"",
        "dead_letters = 3",
        "conflicts = false",
        "duplicate_gap = 1.0",
        "url = \"*** (env:CHAT_URL)\"",
    ] {
        assert!(shown.contains(line), "{line} in\n{shown}");
    }
    assert!(!shown.contains("hunter2"), "{shown}");
    let json = config.to_json();
    assert_eq!(json["alerts"]["dead_letters"], 3);
    assert_eq!(json["alerts"]["receivers"]["script"]["kind"], "command");
}

#[test]
fn every_rule_has_a_key() {
    for rule in Rule::ALL {
        assert!(crate::keys::ALERTS.has(rule.as_str()), "{rule}");
    }
}
