//! Each rule fires on its own above its limit, is fine at it, and knows when the answer is unknown.

use std::time::Duration;

use hapax_core::store::{Backlog, Counts};
use hapax_core::{DeliveryState, Timestamp};

use super::*;
use hapax_delivery::outbox;
use hapax_telemetry::{Figures, Percentiles, TenMinutes, WINDOW};

const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

fn facts() -> Facts {
    Facts {
        now: NOW,
        ten_minutes: TenMinutes {
            watched_for: WINDOW,
            ..TenMinutes::default()
        },
        breakers: BTreeMap::new(),
        counts: Some(Counts::default()),
        gaps: Some(BTreeMap::new()),
        windows: BTreeMap::from([("shop".into(), Duration::from_secs(1_000))]),
        names: BTreeMap::from([("app-id".into(), "app".to_owned())]),
        outboxes: vec![outbox()],
    }
}

fn outbox() -> Health {
    Health {
        name: "shop".to_owned(),
        counts: Some(outbox::Counts::default()),
        trouble: None,
    }
}

fn source(figures: Figures) -> Facts {
    let mut facts = facts();
    facts.ten_minutes.sources = BTreeMap::from([("shop".into(), figures)]);
    facts
}

fn backlog(state: DeliveryState, count: u64, seconds: u64) -> Facts {
    let backlog = Backlog {
        destination: "app-id".into(),
        state,
        count,
        oldest: Some(NOW.minus(Duration::from_secs(seconds))),
    };
    let mut facts = facts();
    facts.counts = Some(Counts {
        backlog: vec![backlog],
        ..Counts::default()
    });
    facts
}

fn firing(rule: Rule, facts: &Facts, limit: f64) -> Vec<(String, f64)> {
    let evaluation = evaluate(rule, facts, limit);
    assert_eq!(evaluation.rest, Rest::Fine);
    evaluation.firing.into_iter().collect()
}

#[test]
fn nothing_is_wrong_where_nothing_happens() {
    for rule in Rule::ALL {
        assert_eq!(firing(rule, &facts(), 0.0), [], "{rule}");
    }
}

#[test]
fn dedupe_rate_fires_above_its_limit_where_enough_came() {
    let figures = |accepted, duplicates| Figures {
        accepted,
        duplicates,
        dedupe_ratio_p95: 0.6,
        ..Figures::default()
    };
    let found = firing(Rule::DedupeRate, &source(figures(10, 10)), 0.5);
    assert_eq!(found, [("shop".to_owned(), 0.6)]);
    assert_eq!(firing(Rule::DedupeRate, &source(figures(10, 10)), 0.6), []);
    assert_eq!(firing(Rule::DedupeRate, &source(figures(9, 10)), 0.5), []);
}

#[test]
fn handler_time_fires_above_its_limit_by_the_name_of_the_destination() {
    let mut facts = facts();
    let took = Percentiles {
        count: 3,
        p95: Some(Duration::from_secs(6)),
        ..Percentiles::default()
    };
    let figures = Figures {
        took,
        ..Figures::default()
    };
    facts.ten_minutes.destinations = BTreeMap::from([("app-id".into(), figures)]);
    assert_eq!(firing(Rule::HandlerP95, &facts, 5.0), [("app".to_owned(), 6.0)]);
    assert_eq!(firing(Rule::HandlerP95, &facts, 6.0), []);
}

#[test]
fn whatever_is_unfinished_and_old_counts_as_pending() {
    for state in [
        DeliveryState::Pending,
        DeliveryState::Running,
        DeliveryState::Retrying,
    ] {
        let found = firing(Rule::OldestPending, &backlog(state, 1, 700), 600.0);
        assert_eq!(found, [("app".to_owned(), 700.0)], "{state:?}");
    }
    assert_eq!(
        firing(Rule::OldestPending, &backlog(DeliveryState::Dead, 1, 700), 600.0),
        []
    );
    assert_eq!(
        firing(
            Rule::OldestPending,
            &backlog(DeliveryState::Pending, 1, 600),
            600.0
        ),
        []
    );
}

#[test]
fn one_dead_letter_is_more_than_none() {
    let facts = backlog(DeliveryState::Dead, 1, 5);
    assert_eq!(firing(Rule::DeadLetters, &facts, 0.0), [("app".to_owned(), 1.0)]);
    assert_eq!(firing(Rule::DeadLetters, &facts, 1.0), []);
}

#[test]
fn a_breaker_fires_once_it_has_been_open_for_long() {
    let mut facts = facts();
    facts.breakers = BTreeMap::from([("app-id".into(), Duration::from_secs(61))]);
    assert_eq!(
        firing(Rule::BreakerOpen, &facts, 60.0),
        [("app".to_owned(), 61.0)]
    );
    assert_eq!(firing(Rule::BreakerOpen, &facts, 61.0), []);
    facts.ten_minutes.watched_for = Duration::from_secs(59);
    assert_eq!(evaluate(Rule::BreakerOpen, &facts, 60.0).rest, Rest::Unknown);
}

#[test]
fn conflicts_and_unproven_requests_fire_above_their_limits() {
    let figures = Figures {
        conflicts: 1,
        unproven: 11,
        ..Figures::default()
    };
    let facts = source(figures);
    assert_eq!(firing(Rule::Conflicts, &facts, 0.0), [("shop".to_owned(), 1.0)]);
    assert_eq!(firing(Rule::Conflicts, &facts, 1.0), []);
    assert_eq!(
        firing(Rule::SignatureFailures, &facts, 10.0),
        [("shop".to_owned(), 11.0)]
    );
    assert_eq!(firing(Rule::SignatureFailures, &facts, 11.0), []);
}

#[test]
fn a_gap_is_measured_against_the_window_of_its_source() {
    let mut facts = facts();
    let gap = Duration::from_secs(850);
    facts.gaps = Some(BTreeMap::from([("shop".into(), gap), ("gone".into(), gap)]));
    assert_eq!(
        firing(Rule::DuplicateGap, &facts, 0.8),
        [("shop".to_owned(), 0.85)]
    );
    assert_eq!(firing(Rule::DuplicateGap, &facts, 0.85), []);
}

#[test]
fn slow_writes_are_the_stores() {
    let mut facts = facts();
    facts.ten_minutes.store_write.p95 = Some(Duration::from_millis(1_500));
    assert_eq!(
        firing(Rule::StoreWriteP95, &facts, 1.0),
        [("store".to_owned(), 1.5)]
    );
    assert_eq!(firing(Rule::StoreWriteP95, &facts, 1.5), []);
}

#[test]
fn a_process_that_has_not_watched_for_long_says_what_it_sees_and_leaves_the_rest_open() {
    let mut facts = source(Figures {
        conflicts: 3,
        ..Figures::default()
    });
    facts.ten_minutes.watched_for = WINDOW.checked_sub(Duration::from_secs(1)).unwrap();
    for rule in [
        Rule::DedupeRate,
        Rule::HandlerP95,
        Rule::Conflicts,
        Rule::SignatureFailures,
        Rule::StoreWriteP95,
    ] {
        assert_eq!(evaluate(rule, &facts, 0.0).rest, Rest::Unknown, "{rule}");
    }
    assert_eq!(evaluate(Rule::Conflicts, &facts, 0.0).firing.len(), 1);
}

#[test]
fn a_store_that_does_not_answer_leaves_open_what_only_it_knows() {
    let mut facts = facts();
    (facts.counts, facts.gaps) = (None, None);
    for rule in [Rule::OldestPending, Rule::DeadLetters, Rule::DuplicateGap] {
        let evaluation = evaluate(rule, &facts, 0.0);
        assert_eq!(
            (evaluation.firing.len(), evaluation.rest),
            (0, Rest::Unknown),
            "{rule}"
        );
    }
}

#[test]
fn an_outbox_is_down_for_longer_than_the_limit() {
    let mut facts = facts();
    facts.outboxes[0].trouble = Some(("gone".to_owned(), Duration::from_secs(61)));
    let evaluation = evaluate(Rule::OutboxDown, &facts, 60.0);
    assert_eq!(evaluation.firing, BTreeMap::from([("shop".to_owned(), 61.0)]));
    let evaluation = evaluate(Rule::OutboxDown, &facts, 61.0);
    assert_eq!((evaluation.firing.len(), evaluation.rest), (0, Rest::Unknown));
}

#[test]
fn refused_rows_and_old_ones_of_an_outbox_are_found() {
    let mut facts = facts();
    facts.outboxes[0].counts = Some(outbox::Counts {
        refused: 2,
        oldest_at: Some(NOW.minus(Duration::from_secs(601))),
        ..outbox::Counts::default()
    });
    assert_eq!(
        firing(Rule::OutboxRefused, &facts, 1.0),
        [("shop".to_owned(), 2.0)]
    );
    assert_eq!(firing(Rule::OutboxRefused, &facts, 2.0), []);
    assert_eq!(
        firing(Rule::OutboxWaiting, &facts, 600.0),
        [("shop".to_owned(), 601.0)]
    );
    assert_eq!(firing(Rule::OutboxWaiting, &facts, 601.0), []);
}

#[test]
fn nobody_can_say_that_the_rows_of_an_outbox_are_fine_while_it_cannot_be_read() {
    let mut facts = facts();
    facts.outboxes[0].trouble = Some(("gone".to_owned(), Duration::from_secs(1)));
    for rule in [Rule::OutboxRefused, Rule::OutboxWaiting] {
        assert_eq!(evaluate(rule, &facts, 0.0).rest, Rest::Unknown, "{rule}");
    }
    facts.outboxes[0] = Health {
        counts: None,
        ..outbox()
    };
    assert_eq!(evaluate(Rule::OutboxRefused, &facts, 0.0).rest, Rest::Unknown);
}
