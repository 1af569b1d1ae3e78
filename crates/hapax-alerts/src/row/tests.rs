//! The transitions of an alert.

use super::*;

const OWNER: u64 = 7;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_000_000 + seconds)
}

const EXCESS: Excess = Excess {
    value: 3.0,
    limit: 0.0,
};

fn raised(receivers: &[String]) -> Row {
    Row::raised(
        Rule::DeadLetters,
        "app",
        EXCESS,
        at(0),
        &receivers.iter().collect(),
    )
}

fn tried(row: &Row, receiver: &str, tried: &Tried) -> Option<Row> {
    let claim = Claim {
        owner: OWNER,
        until: at(100),
    };
    row.claimed(receiver, claim)
        .settled(receiver, OWNER, tried, at(50))
}

fn owed(row: &Row) -> Vec<(&str, State, i64)> {
    let seconds = |owed: &Owed| owed.since.as_seconds() - at(0).as_seconds();
    row.owed
        .iter()
        .map(|owed| (owed.receiver.as_str(), owed.state, seconds(owed)))
        .collect()
}

fn two() -> Vec<String> {
    vec!["chat".to_owned(), "pager".to_owned()]
}

#[test]
fn an_alert_that_nobody_is_told_of_is_gone_when_it_is_over() {
    assert_eq!(raised(&[]).resolved(at(60)), None);
}

#[test]
fn everybody_is_told_once_that_it_fires_and_once_that_it_is_over() {
    let row = raised(&two());
    let row = tried(&row, "chat", &Tried::Delivered).unwrap();
    assert_eq!(owed(&row), [("pager", State::Firing, 0)]);
    let row = tried(&row, "pager", &Tried::Delivered).unwrap();
    assert_eq!(owed(&row), []);
    let row = row.still(Some(EXCESS)).resolved(at(60)).unwrap();
    let row = tried(&row, "pager", &Tried::Delivered).unwrap();
    assert_eq!(owed(&row), [("chat", State::Resolved, 0)]);
    assert_eq!(
        tried(&row, "chat", &Tried::Delivered),
        None,
        "nothing is left of it"
    );
}

#[test]
fn a_receiver_that_was_down_all_the_time_hears_both_in_order() {
    let row = raised(&two()[..1]);
    let row = tried(&row, "chat", &Tried::Refused("down".to_owned())).unwrap();
    let row = row.resolved(at(60)).unwrap();
    assert_eq!(
        owed(&row),
        [("chat", State::Firing, 0), ("chat", State::Resolved, 0)]
    );
    assert_eq!(row.next_for("chat").unwrap().state, State::Firing);
}

#[test]
fn what_fires_again_before_anybody_heard_that_it_was_over_goes_on_firing() {
    let row = tried(&raised(&two()[..1]), "chat", &Tried::Delivered).unwrap();
    let over = row.resolved(at(60)).unwrap();
    let over = tried(&over, "chat", &Tried::Refused("down".to_owned())).unwrap();
    let again = over.raised_again(EXCESS, at(90), &two()[..1].iter().collect());
    assert_eq!(owed(&again), []);
    assert_eq!((again.state, again.since), (State::Firing, at(0)));
    assert_eq!(again.receivers, ["chat"]);
}

#[test]
fn whoever_may_have_heard_that_it_was_over_is_told_that_it_fires_again() {
    let row = tried(&raised(&two()), "chat", &Tried::Delivered).unwrap();
    let row = tried(&row, "pager", &Tried::Delivered).unwrap();
    let over = row.resolved(at(60)).unwrap();
    let over = tried(&over, "chat", &Tried::Unclear("no answer".to_owned())).unwrap();
    let again = over.raised_again(EXCESS, at(90), &two().iter().collect());
    assert_eq!(
        owed(&again),
        [("chat", State::Resolved, 0), ("chat", State::Firing, 90)],
        "`pager` never heard of it"
    );
    let over = again.resolved(at(120)).unwrap();
    let again = over.raised_again(EXCESS, at(150), &two().iter().collect());
    assert!(again.owed.len() <= 3, "{:?}", owed(&again));
}

#[test]
fn a_try_counts_only_for_whoever_holds_the_message() {
    let row = raised(&two()[..1]);
    let claim = Claim {
        owner: OWNER,
        until: at(100),
    };
    let mine = row.claimed("chat", claim);
    let theirs = mine.claimed("chat", Claim { owner: 8, ..claim });
    assert_eq!(
        theirs.settled("chat", OWNER, &Tried::Delivered, at(50)),
        Some(theirs.clone())
    );
}

#[test]
fn a_message_is_due_when_its_time_has_come_and_nobody_holds_it() {
    let row = raised(&two()[..1]);
    let is_due = |row: &Row, seconds| row.next_for("chat").unwrap().is_due(at(seconds));
    assert!(is_due(&row, 0));
    let refused = tried(&row, "chat", &Tried::Refused("down".to_owned())).unwrap();
    assert!(!is_due(&refused, 49) && is_due(&refused, 50));
    let claim = Claim {
        owner: OWNER,
        until: at(100),
    };
    let held = row.claimed("chat", claim);
    assert!(!is_due(&held, 99) && is_due(&held, 100));
    assert!(is_due(&held, -100_000), "a clock that was set holds nothing back");
}

#[test]
fn what_is_too_old_or_for_nobody_is_dropped() {
    let row = raised(&two()).resolved(at(0)).unwrap();
    let all = two();
    let (known, one) = (all.iter().collect(), all[..1].iter().collect());
    assert_eq!(row.tidied(at(700), &known).0, 0);
    let (dropped, left) = row.tidied(at(700), &one);
    assert_eq!((dropped, left.unwrap().owed.len()), (2, 2));
    assert_eq!(row.tidied(at(86_400), &known), (4, None));
}
