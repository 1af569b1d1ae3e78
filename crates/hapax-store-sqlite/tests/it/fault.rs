//! A failing connection: every caller in the transaction gets the error, and the store recovers.

use hapax_core::store::Claim;
use hapax_core::{Identity, Store};
use rusqlite::Connection;

use crate::bench::{Bench, accept};

#[tokio::test]
async fn while_another_program_locks_the_file_writes_are_refused_and_then_go_on() {
    let bench = Bench::new();
    let store = bench.open();
    accept(&store, bench.event("before").build()).await.unwrap();
    let intruder = Connection::open(bench.path()).unwrap();
    intruder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let event = bench.event("meanwhile").build();
    let refused = accept(&store, event.clone()).await.unwrap_err();
    assert!(
        refused.is_retryable() && refused.to_string().contains("another program"),
        "{refused}"
    );
    let identity = Identity::new("shop", "meanwhile");
    assert_eq!(store.look_up(&identity).await.unwrap(), None);
    intruder.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(accept(&store, event).await.unwrap(), Claim::New { .. }));
}

#[cfg(feature = "fail-points")]
#[tokio::test]
async fn a_commit_that_fails_writes_nothing_and_the_connection_is_made_again() {
    let bench = Bench::new();
    let store = bench.open();
    let before = bench.event("before").build();
    accept(&store, before.clone()).await.unwrap();
    let event = bench.event("meanwhile").to("sink").build();
    let scenario = fail::FailScenario::setup();
    fail::cfg("sqlite.before_commit", "return").unwrap();
    let refused = accept(&store, event.clone()).await.unwrap_err();
    assert!(refused.is_retryable(), "{refused:?}");
    fail::remove("sqlite.before_commit");
    scenario.teardown();
    let claim = accept(&store, event.clone()).await.unwrap();
    assert!(matches!(claim, Claim::New { .. }));
    assert_eq!(store.connection_epoch(), 1);
    for known in [before, event] {
        assert!(matches!(accept(&store, known).await.unwrap(), Claim::Seen(_)));
    }
    assert_eq!(store.counts().await.unwrap().events, 2);
}
