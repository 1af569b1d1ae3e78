//! Simultaneous duplicates.

use std::time::Duration;

use futures_util::future::join_all;
use hapax::{Inbox, Outcome};

use super::{BALANCE, event, for_every_driver, patient};
use crate::subject::{Step, Subject, Word};

for_every_driver!(
    of_many_deliveries_at_once_one_is_processed_and_the_others_are_duplicates,
    a_copy_waits_for_the_first_and_is_a_duplicate,
    a_copy_takes_over_when_the_first_rolls_back,
    a_copy_that_may_not_wait_is_in_flight_and_runs_nothing,
    the_low_door_opens_once,
);

async fn of_many_deliveries_at_once_one_is_processed_and_the_others_are_duplicates<S: Subject>() {
    let subject = S::new().await;
    let deliver = |_| {
        let subject = subject.clone();
        tokio::spawn(async move { subject.run(&patient(), &event("evt_1"), Step::Add).await.unwrap() })
    };
    let outcomes: Vec<_> = join_all((0..16).map(deliver))
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    assert_eq!(
        (count(Outcome::Processed(())), count(Outcome::Duplicate)),
        (1, 15)
    );
    assert_eq!(subject.number(BALANCE).await, 1);
}

async fn a_copy_waits_for_the_first_and_is_a_duplicate<S: Subject>() {
    let (first, second, balance) = held::<S>(Word::GoOn).await;
    assert_eq!(first.unwrap(), Outcome::Processed(()));
    assert_eq!(second.unwrap(), Outcome::Duplicate);
    assert_eq!(balance, 1);
}

async fn a_copy_takes_over_when_the_first_rolls_back<S: Subject>() {
    let (first, second, balance) = held::<S>(Word::Fail).await;
    first.unwrap_err();
    assert_eq!(second.unwrap(), Outcome::Processed(()));
    assert_eq!(balance, 1);
}

/// Holds a first delivery inside its handler until the second arrives, then lets it end as given.
async fn held<S: Subject>(word: Word) -> (crate::subject::Run, crate::subject::Run, i64) {
    let subject = S::new().await;
    let (step, outside) = Step::hold();
    let deliver = |step| {
        let subject = subject.clone();
        tokio::spawn(async move { subject.run(&patient(), &event("evt_1"), step).await })
    };
    let first = deliver(step);
    outside.begun.await.unwrap();
    let second = deliver(Step::Add);
    // Let it run as far as it can.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!second.is_finished(), "an uncommitted claim was answered");
    assert!(outside.word.send(word).is_ok());
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    (first, second, subject.number(BALANCE).await)
}

async fn a_copy_that_may_not_wait_is_in_flight_and_runs_nothing<S: Subject>() {
    let subject = S::new().await;
    let hasty = Inbox::new("hasty").unwrap().wait(Duration::from_millis(20));
    let (step, outside) = Step::hold();
    let first = {
        let (subject, hasty) = (subject.clone(), hasty.clone());
        tokio::spawn(async move { subject.run(&hasty, &event("evt_1"), step).await })
    };
    outside.begun.await.unwrap();
    let copy = subject.run(&hasty, &event("evt_1"), Step::Add).await.unwrap();
    assert_eq!(copy, Outcome::InFlight);
    assert!(outside.word.send(Word::GoOn).is_ok());
    assert_eq!(first.await.unwrap().unwrap(), Outcome::Processed(()));
    let again = subject.run(&hasty, &event("evt_1"), Step::Add).await.unwrap();
    assert_eq!(again, Outcome::Duplicate);
    assert_eq!(subject.number(BALANCE).await, 1);
}

async fn the_low_door_opens_once<S: Subject>() {
    let subject = S::new().await;
    assert!(subject.once("stripe", "evt_1", "billing").await);
    assert!(!subject.once("stripe", "evt_1", "billing").await);
    assert!(subject.once("github", "evt_1", "billing").await);
    assert_eq!(subject.number(BALANCE).await, 2);
    // It is the same inbox, and a claim without a hash is not a conflict.
    let outcome = subject.run(&patient(), &event("evt_1"), Step::Add).await.unwrap();
    assert_eq!(outcome, Outcome::Duplicate);
}
