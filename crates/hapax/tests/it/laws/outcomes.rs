//! What happens to deliveries: runs the scenarios of `outcomes.json`, step by step.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use hapax::{Claim, Inbox, Outcome, RunError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::script::{Deliver, Expected, Laws, Scenario, Step};
use super::{BALANCE, for_every_driver, written};
use crate::subject::{ACCOUNT, ADD, Run, Subject, Word};

for_every_driver!(every_scenario_goes_as_written);

/// Deliveries that have begun, by their names.
type Begun = BTreeMap<String, (JoinHandle<Run>, Option<oneshot::Sender<Word>>)>;

async fn every_scenario_goes_as_written<S: Subject>() {
    let laws: Laws = written!("outcomes.json");
    assert_eq!(
        (laws.account.join("; "), laws.add.as_str()),
        (ACCOUNT.to_owned(), ADD)
    );
    let is_ours = |scenario: &&Scenario| {
        scenario
            .dialects
            .as_ref()
            .is_none_or(|dialects| dialects.contains(&S::DIALECT))
    };
    for scenario in laws.scenarios.iter().filter(is_ours) {
        let subject = S::new().await;
        if let Some(settings) = laws.settings.get(&S::DIALECT) {
            has(&subject, settings).await;
        }
        let mut begun = Begun::new();
        for (number, step) in scenario.steps.iter().enumerate() {
            let place = format!("{}, step {}", scenario.name, number + 1);
            take(&subject, &laws, step, &mut begun, &place).await;
        }
        assert!(
            begun.is_empty(),
            "{}: not all deliveries are joined",
            scenario.name
        );
        ends(&subject, scenario).await;
    }
}

/// Checks that the subject's sessions have the settings.
async fn has<S: Subject>(subject: &S, settings: &BTreeMap<String, String>) {
    for (name, value) in settings {
        let setting = subject.texts(&format!("select current_setting('{name}')")).await;
        assert_eq!(setting, [value.as_str()], "{name}");
    }
}

async fn ends<S: Subject>(subject: &S, scenario: &Scenario) {
    let (end, name) = (&scenario.end, &scenario.name);
    assert_eq!(subject.number(BALANCE).await, end.balance, "{name}");
    let rows = subject.number("select count(*) from hapax_inbox").await;
    assert_eq!(rows, end.inbox, "{name}");
    let keys = subject.keys().await;
    assert_eq!(keys.len(), end.outbox.len(), "{name}");
    for (key, expected) in keys.iter().zip(&end.outbox) {
        assert!(
            expected.as_ref().is_none_or(|expected| key == expected),
            "{name}: {key}"
        );
    }
}

async fn take<S: Subject>(subject: &S, laws: &Laws, step: &Step, begun: &mut Begun, place: &str) {
    match step {
        Step::Deliver(step) => deliver(subject, laws, step, begun, place).await,
        Step::Release(step) => {
            let run = tell(begun, &step.release, Word::GoOn).await;
            assert_eq!(word(&run), expected(&step.expect), "{place}: {run:?}");
        }
        Step::Fail(step) => {
            let run = tell(begun, &step.fail, Word::Fail).await;
            assert_eq!(word(&run), expected(&step.expect), "{place}: {run:?}");
        }
        Step::Join(step) => {
            let (run, _) = begun.remove(&step.join).unwrap();
            let run = run.await.unwrap();
            assert_eq!(word(&run), expected(&step.expect), "{place}: {run:?}");
        }
        Step::Claim(step) => {
            let inbox = Inbox::new("billing").unwrap();
            let claim = subject.claim(&inbox, &step.claim.event(), step.then).await;
            let claim = match claim {
                Claim::First => "first",
                Claim::Again => "again",
                Claim::OtherBody => "other_body",
            };
            assert_eq!(claim, step.expect, "{place}");
        }
        Step::Stage(step) => subject.stage(step.stage.call(), step.then).await,
        Step::Purge(step) => assert_eq!(subject.purge(step.purge).await, step.expect, "{place}"),
        Step::CreateTables(step) => {
            assert!(step.create_tables);
            subject.create_tables().await;
        }
        Step::Execute(step) => {
            if let Some(sql) = step.execute.of(S::DIALECT) {
                subject.execute(sql).await;
            }
        }
        Step::Query(step) => {
            if let Some(sql) = step.query.of(S::DIALECT) {
                assert_eq!(subject.number(sql).await, step.is, "{place}");
            }
        }
        Step::Until(step) => {
            if let Some(sql) = step.until.of(S::DIALECT) {
                while subject.number(sql).await != step.is {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

async fn deliver<S: Subject>(subject: &S, laws: &Laws, step: &Deliver, begun: &mut Begun, place: &str) {
    let start = || {
        let (delivery, held) = laws.delivery(step);
        let subject = subject.clone();
        (tokio::spawn(async move { subject.run(delivery).await }), held)
    };
    match (&step.name, &step.expect) {
        (Some(name), None) => {
            let (run, held) = start();
            let word = match held {
                Some(held) => {
                    held.begun.await.unwrap();
                    Some(held.word)
                }
                None => None,
            };
            begun.insert(name.clone(), (run, word));
        }
        (None, Some(Expected::One(outcome))) => {
            let run = start().0.await.unwrap();
            assert_eq!(word(&run), expected(outcome), "{place}: {run:?}");
        }
        (None, Some(Expected::Counts(counts))) => {
            let runs = (0..step.at_once.unwrap()).map(|_| start().0);
            let mut found = BTreeMap::new();
            for run in join_all(runs).await {
                *found.entry(word(&run.unwrap()).to_owned()).or_default() += 1;
            }
            assert_eq!(found, *counts, "{place}");
        }
        (Some(_), Some(_)) | (None, None) => panic!("{place}: either `as` or `expect`"),
    }
}

/// Tells a held delivery how to go on, and waits for its end.
async fn tell(begun: &mut Begun, name: &str, command: Word) -> Run {
    let (run, word) = begun.remove(name).unwrap();
    word.expect("it holds").send(command).unwrap();
    run.await.unwrap()
}

fn word(run: &Run) -> &'static str {
    match run {
        Ok(Outcome::Processed(())) => "processed",
        Ok(Outcome::Duplicate) => "duplicate",
        Ok(Outcome::InFlight) => "in_flight",
        Ok(Outcome::Conflict) => "conflict",
        Err(RunError::Handler(_)) => "failed",
        Err(RunError::Broken(_)) => "broken",
        Err(RunError::Database(error)) if error.is_retryable() => "unavailable",
        Err(RunError::Database(_)) => "refused",
        Err(RunError::Unknown(error)) if error.is_retryable() => "unknown",
        Err(RunError::Unknown(_)) => "unknown, but not retryable",
    }
}

/// A missing table has no error of its own in Rust.
fn expected(word: &str) -> &str {
    if word == "missing_table" { "refused" } else { word }
}
