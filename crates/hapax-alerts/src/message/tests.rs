//! The messages as they are sent.

use super::*;

fn message(said: Said) -> Message {
    Message {
        rule: Rule::DeadLetters,
        subject: "billing".to_owned(),
        said,
        since: Timestamp::from_seconds(1_767_225_600),
        at: Timestamp::from_seconds(1_767_225_600 + 720),
        value: 3.0,
        limit: 0.0,
    }
}

#[test]
fn a_message_by_standard_webhooks() {
    insta::assert_snapshot!(printed(&message(Said::Firing).document()));
}

#[test]
fn a_message_that_it_is_over() {
    insta::assert_snapshot!(printed(&message(Said::Resolved).document()));
}

#[test]
fn a_message_for_slack() {
    insta::assert_snapshot!(printed(&message(Said::Firing).for_slack()));
}

#[test]
fn a_test_for_slack() {
    insta::assert_snapshot!(printed(&message(Said::Test).for_slack()));
}

#[test]
fn every_rule_has_its_own_words() {
    let words: Vec<String> = Rule::ALL
        .into_iter()
        .flat_map(|rule| {
            let (value, limit) = match rule.unit() {
                Unit::Share => (0.63, 0.5),
                Unit::Seconds => (750.0, 5.0),
                Unit::Count => (14.0, 10.0),
            };
            let over = Message {
                rule,
                value,
                limit,
                ..message(Said::Resolved)
            };
            [wrong(rule, "NAME", value, limit), over.sentence()]
        })
        .collect();
    insta::assert_snapshot!(words.join("\n"));
}

#[test]
fn an_id_is_stable_over_tries_and_differs_by_what_is_said() {
    let (firing, resolved) = (message(Said::Firing), message(Said::Resolved));
    let later = Message {
        at: Timestamp::from_seconds(1_800_000_000),
        value: 9.0,
        ..firing.clone()
    };
    assert_eq!(firing.id(), later.id());
    assert_ne!(firing.id(), resolved.id());
    assert!(!firing.id().contains('.'));
    let another = Message {
        since: Timestamp::from_seconds(1),
        ..firing.clone()
    };
    assert_ne!(firing.id(), another.id());
}

#[test]
fn what_slack_takes_for_markup_is_escaped() {
    assert_eq!(escaped("<a> & b"), "&lt;a&gt; &amp; b");
}

fn printed(document: &Value) -> String {
    serde_json::to_string_pretty(document).unwrap()
}
