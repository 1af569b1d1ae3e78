//! A checker that never objects is worthless: each promise has a history that breaks it, alongside one that keeps them
//! all.

use std::collections::BTreeMap;

use super::super::history::{DestinationKind, Seen, State, Stored};
use super::{Findings, check};

fn sent(event: &str) -> Seen {
    Seen::Sent {
        event: event.to_owned(),
        to: vec![DestinationKind::App, DestinationKind::Books],
        lane: None,
    }
}

fn sent_in_lane(event: &str, lane: usize) -> Seen {
    Seen::Sent {
        event: event.to_owned(),
        to: vec![DestinationKind::Books],
        lane: Some(lane),
    }
}

fn answered(event: &str, status: u16) -> Seen {
    Seen::Answered {
        event: event.to_owned(),
        status,
    }
}

fn attempted(event: &str, key: &str) -> Seen {
    Seen::Attempted {
        event: event.to_owned(),
        key: key.to_owned(),
    }
}

fn applied(event: &str, at: DestinationKind) -> Seen {
    Seen::Applied {
        event: event.to_owned(),
        at,
    }
}

fn delivery(token: i64, state: State) -> Stored {
    Stored {
        generation: 0,
        token,
        state,
        key: "k".to_owned(),
        replay: None,
    }
}

fn look(stored: Stored) -> Seen {
    Seen::Stored(BTreeMap::from([(("a".to_owned(), DestinationKind::App), stored)]))
}

/// Two snapshots, the second with a change.
fn looks(first: &Stored, change: impl FnOnce(&mut Stored)) -> Findings {
    let mut second = first.clone();
    change(&mut second);
    check(&[look(first.clone()), look(second)])
}

/// A crash in the middle: the first response is lost, the attempt is repeated, the effect is there once.
fn honest() -> Vec<Seen> {
    vec![
        sent("a"),
        look(delivery(1, State::Running)),
        attempted("a", "k"),
        applied("a", DestinationKind::App),
        look(delivery(1, State::Running)),
        answered("a", 503),
        answered("a", 200),
        attempted("a", "k"),
        applied("a", DestinationKind::App),
        applied("a", DestinationKind::Books),
        look(delivery(2, State::Completed)),
    ]
}

fn without(unwanted: impl Fn(&Seen) -> bool) -> Findings {
    let history: Vec<Seen> = honest().into_iter().filter(|seen| !unwanted(seen)).collect();
    check(&history)
}

fn with(more: Seen) -> Findings {
    let mut history = honest();
    history.push(more);
    check(&history)
}

#[test]
fn a_history_that_keeps_every_promise_passes() {
    assert_eq!(check(&honest()), Findings::default());
    assert!(check(&honest()).is_clean() && check(&[]).is_clean());
}

#[test]
fn an_event_answered_2xx_without_its_effect_is_lost_at_either_place() {
    for place in [DestinationKind::App, DestinationKind::Books] {
        let findings = without(|seen| matches!(seen, Seen::Applied { at, .. } if *at == place));
        assert_eq!(findings.lost.len(), 1, "{findings:?}");
    }
}

#[test]
fn an_event_that_was_never_answered_2xx_is_not_lost() {
    let findings = check(&[sent("a"), answered("a", 503), answered("a", 401)]);
    assert!(findings.is_clean(), "{findings:?}");
}

#[test]
fn a_second_effect_in_the_database_is_a_double_even_if_nobody_was_answered() {
    let findings = with(applied("a", DestinationKind::Books));
    assert_eq!(findings.doubled.len(), 1, "{findings:?}");
    let unanswered = check(&[
        sent("a"),
        applied("a", DestinationKind::Books),
        applied("a", DestinationKind::Books),
    ]);
    assert_eq!(unanswered.doubled.len(), 1, "{unanswered:?}");
}

#[test]
fn an_effect_behind_a_later_one_of_its_lane_is_found() {
    let sent = [
        sent_in_lane("a", 0),
        sent_in_lane("x", 1),
        sent_in_lane("b", 0),
        sent_in_lane("c", 0),
    ];
    let with = |order: [&str; 4]| {
        let effects = order.map(|event| applied(event, DestinationKind::Books));
        check(&[&sent[..], &effects[..]].concat())
    };
    assert!(with(["a", "b", "x", "c"]).is_clean());
    assert_eq!(with(["b", "a", "x", "c"]).disordered.len(), 1);
    assert_eq!(with(["a", "c", "b", "x"]).disordered.len(), 1);
}

#[test]
fn an_attempt_under_another_key_or_none_is_found() {
    for key in ["other", ""] {
        let findings = with(attempted("a", key));
        assert!(!findings.keys.is_empty(), "{findings:?}");
    }
}

#[test]
fn one_key_for_two_events_is_found() {
    let findings = with(attempted("b", "k"));
    assert_eq!(findings.keys.len(), 1, "{findings:?}");
}

#[test]
fn a_token_or_a_generation_that_goes_back_is_found() {
    let mut second = delivery(7, State::Running);
    second.generation = 1;
    assert_eq!(looks(&second, |stored| stored.token = 6).backwards.len(), 1);
    let older = looks(&second, |stored| {
        stored.generation = 0;
        stored.token = 8;
    });
    assert_eq!(older.backwards.len(), 1, "{older:?}");
}

#[test]
fn what_had_ended_may_not_run_again_without_a_replay_or_a_generation() {
    let done = delivery(7, State::Completed);
    let again = |stored: &mut Stored| {
        stored.state = State::Running;
        stored.token = 8;
    };
    assert_eq!(looks(&done, again).backwards.len(), 1);
    let replayed = looks(&done, |stored| {
        again(stored);
        stored.replay = Some("r".to_owned());
    });
    assert!(replayed.is_clean(), "{replayed:?}");
    let next = looks(&done, |stored| {
        again(stored);
        stored.generation = 1;
        stored.key = "k1".to_owned();
    });
    assert!(next.is_clean(), "{next:?}");
}

#[test]
fn an_end_that_changes_under_its_token_is_found() {
    let findings = looks(&delivery(7, State::Completed), |stored| {
        stored.state = State::Dead;
    });
    assert_eq!(findings.backwards.len(), 1, "{findings:?}");
}

#[test]
fn a_stored_key_that_changes_within_a_generation_is_found() {
    let findings = looks(&delivery(7, State::Retrying), |stored| {
        stored.token = 8;
        stored.key = "other".to_owned();
    });
    assert_eq!(findings.backwards.len(), 1, "{findings:?}");
}

#[test]
fn a_delivery_that_vanishes_from_the_store_is_found() {
    let findings = check(&[
        look(delivery(7, State::Pending)),
        Seen::Stored(BTreeMap::default()),
    ]);
    assert_eq!(findings.backwards.len(), 1, "{findings:?}");
}
