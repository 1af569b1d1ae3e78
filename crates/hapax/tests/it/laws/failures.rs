//! Handlers that fail, panic, are dropped, or lose their connection: all or nothing.

use hapax::{Outcome, RunError};

use super::{BALANCE, event, for_every_driver, for_postgres, patient};
use crate::subject::{Step, Subject};

for_every_driver!(
    a_failed_handler_leaves_nothing_and_the_event_comes_again,
    a_panic_leaves_nothing_and_the_event_comes_again,
    an_ok_after_the_transaction_broke_is_no_success,
);
for_postgres!(
    a_dropped_future_leaves_nothing_and_the_event_comes_again,
    a_handler_that_commits_itself_is_told,
    a_connection_lost_in_the_handler_leaves_nothing,
    a_connection_lost_in_the_commit_leaves_it_unknown_and_the_next_delivery_tells,
    a_serialization_failure_is_worth_another_try,
);

async fn a_failed_handler_leaves_nothing_and_the_event_comes_again<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let failed = subject
            .run(&patient(), &event("evt_1"), Step::Fail)
            .await
            .unwrap_err();
        assert!(matches!(failed, RunError::Handler(_)), "{failed}");
        assert!(!failed.is_retryable());
        nothing(&subject).await;
    }
    comes_again(&subject).await;
}

async fn a_panic_leaves_nothing_and_the_event_comes_again<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let panicking = subject.clone();
        let run = async move { panicking.run(&patient(), &event("evt_1"), Step::Panic).await };
        assert!(tokio::spawn(run).await.unwrap_err().is_panic());
        nothing(&subject).await;
    }
    comes_again(&subject).await;
}

async fn an_ok_after_the_transaction_broke_is_no_success<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let failed = subject
            .run(&patient(), &event("evt_1"), Step::Swallow)
            .await
            .unwrap_err();
        assert!(matches!(failed, RunError::Broken(_)), "{failed}");
        nothing(&subject).await;
    }
    comes_again(&subject).await;
}

async fn a_dropped_future_leaves_nothing_and_the_event_comes_again<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let (step, outside) = Step::hold();
        let dropped = subject.clone();
        let run = tokio::spawn(async move { dropped.run(&patient(), &event("evt_1"), step).await });
        outside.begun.await.unwrap();
        run.abort();
        assert!(run.await.unwrap_err().is_cancelled());
    }
    // A duplicate waits until the server has noticed.
    comes_again(&subject).await;
}

async fn a_handler_that_commits_itself_is_told<S: Subject>() {
    let subject = S::new().await;
    let failed = subject
        .run(&patient(), &event("evt_1"), Step::Commit)
        .await
        .unwrap_err();
    assert!(matches!(failed, RunError::Broken(_)), "{failed}");
    // The claim was committed together with the handler's changes: still once.
    let again = subject.run(&patient(), &event("evt_1"), Step::Add).await.unwrap();
    assert_eq!(again, Outcome::Duplicate);
    assert_eq!(subject.number(BALANCE).await, 1);
}

async fn a_connection_lost_in_the_handler_leaves_nothing<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let failed = subject
            .run(&patient(), &event("evt_1"), Step::Disconnect)
            .await
            .unwrap_err();
        assert!(matches!(failed, RunError::Database(_)), "{failed}");
        assert!(failed.is_retryable());
        nothing(&subject).await;
    }
    comes_again(&subject).await;
}

async fn a_connection_lost_in_the_commit_leaves_it_unknown_and_the_next_delivery_tells<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let unclear = subject
            .run(&patient(), &event("evt_1"), Step::DisconnectAtCommit)
            .await
            .unwrap_err();
        assert!(matches!(unclear, RunError::Unknown(_)), "{unclear}");
        assert!(unclear.is_retryable() && unclear.to_string().contains("deliver the event again"));
    }
    comes_again(&subject).await;
}

async fn a_serialization_failure_is_worth_another_try<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        let failed = subject
            .run(&patient(), &event("evt_1"), Step::Victim)
            .await
            .unwrap_err();
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
        let outcome = subject.run(&patient(), &event("evt_1"), Step::Add).await.unwrap();
        assert_eq!(outcome, expected);
    }
    assert_eq!(subject.number(BALANCE).await, 1);
}
