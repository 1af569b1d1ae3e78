//! Handlers that panic, are dropped, or report a serialization failure: all or nothing.

use hapax::{Outcome, RunError};

use super::{BALANCE, delivery, for_every_driver, for_postgres};
use crate::subject::{Action, Gate, Subject};

for_every_driver!(a_panic_leaves_nothing_and_the_event_comes_again);
for_postgres!(
    a_dropped_future_leaves_nothing_and_the_event_comes_again,
    a_serialization_failure_is_worth_another_try,
);

async fn a_panic_leaves_nothing_and_the_event_comes_again<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let panicking = subject.clone();
        let run = async move { panicking.run(delivery().then(Action::Panic)).await };
        assert!(tokio::spawn(run).await.unwrap_err().is_panic());
        nothing(&subject).await;
    }
    comes_again(&subject).await;
}

async fn a_dropped_future_leaves_nothing_and_the_event_comes_again<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let (gate, outside) = Gate::new();
        let dropped = subject.clone();
        let run = tokio::spawn(async move { dropped.run(delivery().then(Action::Hold(gate))).await });
        outside.begun.await.unwrap();
        run.abort();
        assert!(run.await.unwrap_err().is_cancelled());
    }
    // A duplicate waits until the server has noticed.
    comes_again(&subject).await;
}

async fn a_serialization_failure_is_worth_another_try<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let raise = "do $$ begin raise exception 'victim' using errcode = '40001'; end $$";
        let victim = delivery().then(Action::Execute(raise.to_owned()));
        let failed = subject.run(victim).await.unwrap_err();
        assert!(matches!(failed, RunError::Handler(_)), "{failed}");
        assert!(failed.is_retryable());
        nothing(&subject).await;
    }
    comes_again(&subject).await;
}

async fn nothing<S: Subject>(subject: &S) {
    assert_eq!(subject.number(BALANCE).await, 0);
    assert_eq!(subject.number("select count(*) from hapax_inbox").await, 0);
}

/// Delivers the event again: it is applied once.
async fn comes_again<S: Subject>(subject: &S) {
    for expected in [Outcome::Processed(()), Outcome::Duplicate] {
        assert_eq!(subject.run(delivery()).await.unwrap(), expected);
    }
    assert_eq!(subject.number(BALANCE).await, 1);
}
