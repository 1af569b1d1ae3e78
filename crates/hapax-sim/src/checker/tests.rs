//! Hand-written histories: a good one passes, and for each rule there is one that must fail for exactly that rule.

use std::time::Duration;

use hapax_core::store::ReplayJobId;
use hapax_core::{EventId, Generation, IdempotencyKey, Identity, Token};

use super::*;
use crate::executor::Process;
use crate::history::{AttemptEnd, Delivery, Fault, Told};
use crate::world::IN_ORDER;

const ONE: Process = Process(1);
const TWO: Process = Process(2);

fn id(number: u8) -> EventId {
    EventId::from_bytes([number; 16])
}

fn delivery(number: u8) -> Delivery {
    Delivery {
        event: format!("evt_{number}"),
        id: id(number),
        destination: IN_ORDER.into(),
    }
}

fn key(number: u8, generation: u32) -> IdempotencyKey {
    let delivery = delivery(number);
    Identity::new("shop", delivery.event).idempotency_key(Generation(generation), &delivery.destination)
}

fn answered(number: u8, told: Told) -> Fact {
    let event = delivery(number).event;
    Fact::Answered { by: ONE, event, told }
}

fn stored(number: u8) -> Fact {
    Fact::Stored {
        event: delivery(number).event,
        id: id(number),
        lane: Some("lane".to_owned()),
        to: vec![IN_ORDER.into()],
    }
}

/// A delivery to an unordered destination.
fn free(number: u8) -> Delivery {
    Delivery {
        destination: "http".into(),
        ..delivery(number)
    }
}

fn put_back(delivery: Delivery, job: u8) -> Fact {
    let job = Some(ReplayJobId(id(job)));
    Fact::PutBack { delivery, job }
}

fn leased(by: Process, number: u8, token: u64) -> Fact {
    let (delivery, token) = (delivery(number), Token(token));
    Fact::Leased { by, delivery, token }
}

fn attempted(number: u8, generation: u32) -> Fact {
    Fact::Attempted {
        delivery: delivery(number),
        generation: Generation(0),
        key: key(number, generation),
    }
}

fn effect(number: u8) -> Fact {
    effect_of(number, 0)
}

fn effect_of(number: u8, generation: u32) -> Fact {
    let (delivery, generation) = (delivery(number), Generation(generation));
    Fact::Effect { delivery, generation }
}

fn finished(by: Process, number: u8, token: u64) -> Fact {
    Fact::Finished {
        by,
        delivery: delivery(number),
        token: Token(token),
        verdict: AttemptEnd::Completed,
    }
}

fn rescued(number: u8) -> Fact {
    let (delivery, lost) = (delivery(number), 1);
    Fact::Rescued { delivery, lost }
}

/// One event, from its arrival to its end.
fn good() -> Vec<Fact> {
    vec![
        stored(1),
        leased(ONE, 1, 1),
        answered(1, Told::Accepted(id(1))),
        attempted(1, 0),
        effect(1),
        finished(ONE, 1, 1),
        answered(1, Told::Duplicate(id(1))),
    ]
}

/// The rules that a history breaks, with one entry per second and a good end.
fn broken(mut facts: Vec<Fact>) -> Vec<Rule> {
    facts.push(Fact::Ended {
        unfinished: 0,
        settled: Settled::Yes,
    });
    rules(facts)
}

fn rules(facts: Vec<Fact>) -> Vec<Rule> {
    let times = (0..).map(Duration::from_secs);
    let history: Vec<Entry> = times.zip(facts).map(|(at, fact)| Entry { at, fact }).collect();
    let mut rules: Vec<Rule> = check(&history, 1)
        .into_iter()
        .map(|violation| violation.rule)
        .collect();
    rules.dedup();
    rules
}

#[test]
fn a_good_history_breaks_nothing() {
    assert_eq!(broken(good()), []);
}

#[test]
fn an_event_that_was_answered_and_never_took_effect_is_lost() {
    let facts = good().into_iter().filter(|fact| *fact != effect(1));
    assert_eq!(broken(facts.collect()), [Rule::Lost]);
}

#[test]
fn an_event_that_was_only_refused_is_not_lost() {
    assert_eq!(broken(vec![answered(1, Told::Refused)]), []);
}

#[test]
fn a_second_effect_is_one_too_many() {
    assert_eq!(broken([good(), vec![effect(1)]].concat()), [Rule::Doubled]);
}

#[test]
fn a_forced_replay_takes_effect_once_and_not_twice() {
    let again = [good(), vec![Fact::Forced(ONE), effect_of(1, 1)]].concat();
    assert_eq!(broken(again.clone()), []);
    let doubled = [again.clone(), vec![effect_of(1, 1)]].concat();
    assert_eq!(broken(doubled), [Rule::Doubled]);
    let too_often = [again, vec![effect_of(1, 2)]].concat();
    assert_eq!(broken(too_often), [Rule::TooOften]);
}

#[test]
fn a_second_id_for_an_identity_is_one_too_many() {
    let other = answered(1, Told::Accepted(id(2)));
    assert_eq!(broken([good(), vec![other]].concat()), [Rule::TwoIds]);
}

#[test]
fn an_event_is_done_after_its_effects_and_not_before() {
    let done = Fact::Processed(delivery(1).event);
    assert_eq!(broken([good(), vec![done.clone()]].concat()), []);
    assert_eq!(broken([vec![done], good()].concat()), [Rule::DoneTooEarly]);
}

#[test]
fn an_attempt_under_another_key_is_noticed() {
    assert_eq!(
        broken([good(), vec![attempted(1, 1)]].concat()),
        [Rule::KeyChanged]
    );
}

#[test]
fn an_event_that_overtakes_another_of_its_lane_is_out_of_order() {
    let in_order = vec![stored(1), stored(2), effect(1), effect(2)];
    assert_eq!(broken(in_order), []);
    let overtaken = vec![stored(1), stored(2), effect(2), effect(1)];
    assert_eq!(broken(overtaken), [Rule::OutOfOrder]);
}

/// Two events of a lane that took effect.
fn two_done() -> Vec<Fact> {
    let one = |number| {
        let token = u64::from(number);
        [
            leased(ONE, number, token),
            effect(number),
            finished(ONE, number, token),
        ]
    };
    [vec![stored(1), stored(2)], one(1).to_vec(), one(2).to_vec()].concat()
}

#[test]
fn a_replayed_delivery_runs_before_those_that_were_accepted_later_and_wait() {
    let both = [
        two_done(),
        vec![put_back(delivery(1), 9), put_back(delivery(2), 9)],
    ]
    .concat();
    let in_order = vec![leased(ONE, 1, 3), finished(ONE, 1, 3), leased(ONE, 2, 4)];
    assert_eq!(broken([both.clone(), in_order].concat()), []);
    let overtaken = vec![leased(ONE, 2, 3)];
    assert_eq!(broken([both, overtaken].concat()), [Rule::ReplayOutOfOrder]);
}

#[test]
fn one_that_was_tried_keeps_its_turn() {
    let again = Fact::Finished {
        by: ONE,
        delivery: delivery(2),
        token: Token(3),
        verdict: AttemptEnd::Retry,
    };
    let tried = vec![put_back(delivery(2), 9), leased(ONE, 2, 3), again];
    let earlier = vec![put_back(delivery(1), 8), leased(ONE, 2, 4)];
    assert_eq!(broken([two_done(), tried, earlier].concat()), []);
}

#[test]
fn a_bulk_replay_puts_the_oldest_back_first() {
    let run = |number, token| vec![leased(ONE, number, token), finished(ONE, number, token)];
    let backwards = |first, second| {
        let later = [vec![put_back(delivery(2), first)], run(2, 3)].concat();
        let earlier = [vec![put_back(delivery(1), second)], run(1, 4)].concat();
        broken([two_done(), later, earlier].concat())
    };
    assert_eq!(backwards(9, 9), [Rule::ReplayOutOfOrder]);
    assert_eq!(backwards(8, 9), [], "two unrelated events");
}

#[test]
fn what_a_bulk_replay_could_not_put_back_it_puts_back_late() {
    let unfinished = Fact::Stored {
        event: free(1).event,
        id: id(1),
        lane: None,
        to: vec![free(1).destination],
    };
    let facts = vec![unfinished, put_back(delivery(2), 9), put_back(delivery(1), 9)];
    assert_eq!(broken([two_done(), facts].concat()), []);
}

/// A process completes a delivery; another becomes due then and is leased `seconds` later.
fn waiting(seconds: u64, meanwhile: Vec<(u64, Fact)>) -> Vec<Rule> {
    let lease = |number, token| Fact::Leased {
        by: ONE,
        delivery: free(number),
        token: Token(token),
    };
    let finish = |number, token| Fact::Finished {
        by: ONE,
        delivery: free(number),
        token: Token(token),
        verdict: AttemptEnd::Completed,
    };
    let mut facts = vec![
        (0, Fact::Calm),
        (0, put_back(free(1), 9)),
        (0, lease(1, 1)),
        (1, finish(1, 1)),
        (1, put_back(free(2), 9)),
    ];
    facts.extend(meanwhile);
    facts.push((1 + seconds, lease(2, 9)));
    facts.push((1 + seconds, finish(2, 9)));
    let ended = Fact::Ended {
        unfinished: 0,
        settled: Settled::Yes,
    };
    facts.push((1 + seconds, ended));
    let entry = |(at, fact)| Entry {
        at: Duration::from_secs(at),
        fact,
    };
    let history: Vec<Entry> = facts.into_iter().map(entry).collect();
    let violations = check(&history, 1);
    violations.into_iter().map(|violation| violation.rule).collect()
}

#[test]
fn what_is_due_does_not_wait_while_somebody_stands_idle() {
    assert_eq!(waiting(2, Vec::new()), []);
    assert_eq!(waiting(9, Vec::new()), [Rule::BacklogStands]);
}

#[test]
fn what_is_due_waits_for_one_that_is_busy_or_in_trouble() {
    let busy = Fact::Leased {
        by: ONE,
        delivery: free(3),
        token: Token(2),
    };
    assert_eq!(waiting(9, vec![(1, busy)]), []);
    let stopped = [Fault::Paused(ONE), Fault::Resumed(ONE)].map(Fact::Fault);
    assert_eq!(waiting(9, stopped.map(|fault| (2, fault)).to_vec()), []);
}

#[test]
fn a_holder_whose_lease_was_lost_may_not_write() {
    let killed = Fact::Fault(Fault::Killed(ONE));
    let taken_over = vec![leased(ONE, 1, 1), killed, rescued(1), leased(TWO, 1, 2)];
    let by_the_new = [taken_over.clone(), vec![finished(TWO, 1, 2)]].concat();
    assert_eq!(broken(by_the_new), []);
    let by_the_old = [taken_over, vec![finished(ONE, 1, 1)]].concat();
    assert_eq!(broken(by_the_old), [Rule::StaleWrite]);
}

#[test]
fn a_lease_that_somebody_has_is_not_given_to_another() {
    let twice = vec![leased(ONE, 1, 1), leased(TWO, 1, 2)];
    assert_eq!(broken(twice), [Rule::TwoHolders]);
}

#[test]
fn a_token_is_never_used_again() {
    let again = vec![leased(ONE, 1, 5), leased(ONE, 2, 5)];
    assert_eq!(broken(again), [Rule::TokenReused]);
}

#[test]
fn a_lease_is_not_taken_from_a_holder_without_trouble() {
    assert_eq!(
        broken(vec![leased(ONE, 1, 1), rescued(1)]),
        [Rule::LossUnexplained]
    );
}

#[test]
fn trouble_of_another_or_before_the_lease_explains_no_loss() {
    let of_another = vec![leased(ONE, 1, 1), Fact::Fault(Fault::Killed(TWO)), rescued(1)];
    assert_eq!(broken(of_another), [Rule::LossUnexplained]);
    let trouble = [Fault::Paused(ONE), Fault::Resumed(ONE)].map(Fact::Fault);
    let before = [&trouble[..], &[leased(ONE, 1, 1), rescued(1)]].concat();
    assert_eq!(broken(before), [Rule::LossUnexplained]);
    let stopped = vec![leased(ONE, 1, 1), Fact::Fault(Fault::ShutDown(ONE)), rescued(1)];
    assert_eq!(broken(stopped), [Rule::LossUnexplained]);
}

#[test]
fn each_kind_of_trouble_of_the_holder_or_the_store_explains_a_loss() {
    for fault in [
        Fault::Killed(ONE),
        Fault::Paused(ONE),
        Fault::Resumed(ONE),
        Fault::CutOff(ONE),
        Fault::Reconnected(ONE),
        Fault::MessageLost(ONE),
        Fault::StoreDown,
        Fault::StoreUp,
        Fault::StoreClockStepped(1),
    ] {
        let facts = vec![leased(ONE, 1, 1), Fact::Fault(fault), rescued(1)];
        assert_eq!(broken(facts), [], "{fault:?}");
    }
}

#[test]
fn where_leases_are_long_nothing_is_lost_before_the_store_was_reachable_for_long_enough() {
    let lost_after = |seconds: usize| {
        let mut facts = vec![Fact::LeasesLast(Duration::from_secs(60)), leased(ONE, 1, 1)];
        facts.push(Fact::Fault(Fault::StoreDown));
        facts.extend(std::iter::repeat_n(Fact::Calm, 8));
        facts.push(Fact::Fault(Fault::StoreUp));
        facts.extend(std::iter::repeat_n(Fact::Calm, seconds - 1));
        facts.push(rescued(1));
        broken(facts)
    };
    assert_eq!(lost_after(14), [Rule::LossUnexplained]);
    assert_eq!(lost_after(16), []);
}

#[test]
fn what_a_dead_process_holds_is_taken_back_within_fifteen_seconds() {
    let held_for = |before: usize, after: usize| {
        let mut facts = vec![Fact::Started(TWO)];
        facts.extend(std::iter::repeat_n(Fact::Calm, before));
        facts.extend([leased(ONE, 1, 1), Fact::Fault(Fault::Killed(ONE))]);
        facts.extend(std::iter::repeat_n(Fact::Calm, after));
        facts.push(rescued(1));
        broken(facts)
    };
    assert_eq!(held_for(20, 13), []);
    assert_eq!(held_for(20, 14), [Rule::HeldByTheDead]);
    assert_eq!(held_for(1, 14), [], "too soon to tell");
    assert_eq!(held_for(1, 15), [Rule::HeldByTheDead]);
}

#[test]
fn a_process_that_has_stopped_has_to_notice_nothing_also_after_it_is_reconnected() {
    let mut facts = vec![
        Fact::Started(TWO),
        leased(ONE, 1, 1),
        Fact::Fault(Fault::Killed(ONE)),
    ];
    facts.extend([Fault::CutOff(TWO), Fault::ShutDown(TWO), Fault::Reconnected(TWO)].map(Fact::Fault));
    facts.extend(std::iter::repeat_n(Fact::Calm, 40));
    facts.push(rescued(1));
    assert_eq!(broken(facts), []);
}

#[test]
fn nobody_has_to_notice_a_death_who_has_trouble_of_its_own() {
    for fault in [
        Fault::Paused(TWO),
        Fault::CutOff(TWO),
        Fault::StoreDown,
        Fault::ShutDown(TWO),
        Fault::Killed(TWO),
    ] {
        let mut facts = vec![
            Fact::Started(TWO),
            leased(ONE, 1, 1),
            Fact::Fault(Fault::Killed(ONE)),
        ];
        facts.push(Fact::Fault(fault));
        facts.extend(std::iter::repeat_n(Fact::Calm, 60));
        facts.push(rescued(1));
        assert_eq!(broken(facts), [], "{fault:?}");
    }
}

#[test]
fn what_is_left_in_the_end_is_unfinished() {
    let left = |unfinished, settled| rules(vec![Fact::Ended { unfinished, settled }]);
    assert_eq!(left(0, Settled::Yes), []);
    assert_eq!(left(1, Settled::Yes), [Rule::Unfinished]);
    assert_eq!(left(0, Settled::No), [Rule::Unfinished]);
    assert_eq!(rules(good()), [Rule::Unfinished], "a history without an end");
    assert_eq!(rules(Vec::new()), [Rule::Unfinished], "no history at all");
}
