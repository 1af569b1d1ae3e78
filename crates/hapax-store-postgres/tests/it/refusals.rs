//! Refusals by the database are reported in its own words, with the statement's name and without bound values.

use std::error::Error as _;

use hapax_core::Store;
use hapax_core::store::{Claim, Error};
use hapax_test_postgres::Server;

use crate::bench::{Maker, accept, open, request};

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_the_server_can_never_run_is_no_outage_and_is_named() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    accept(&store, maker.event("evt_1")).await.unwrap();
    let admin = database.client().await.unwrap();
    admin
        .batch_execute("ALTER TABLE hapax.work RENAME TO gone")
        .await
        .unwrap();
    let refused = accept(&store, maker.event("evt_2")).await.unwrap_err();
    assert!(!matches!(refused, Error::Unavailable { .. }), "{refused}");
    let message = refused.to_string();
    assert!(
        message.contains("INSERT hapax.ledger, hapax.events, hapax.work, hapax.tallies in accept/at_once"),
        "{message}"
    );
    assert!(
        message.contains("ERROR 42P01: relation \"hapax.work\""),
        "{message}"
    );
    // Once it is fixed, the store continues.
    admin
        .batch_execute("ALTER TABLE hapax.gone RENAME TO work")
        .await
        .unwrap();
    for event in ["evt_1", "evt_2"] {
        accept(&store, maker.event(event)).await.unwrap();
    }
    assert_eq!(store.counts().await.unwrap().events, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_database_is_told_without_what_was_bound() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let admin = database.client().await.unwrap();
    admin
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 RAISE EXCEPTION 'not today' USING ERRCODE = '55000', DETAIL = convert_from(NEW.body, 'UTF8');
             END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON hapax.events FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .await
        .unwrap();
    let maker = Maker::default();
    let both = vec![request(maker.event("secret")), request(maker.event("secret"))];
    for answer in store.accept(both).await {
        let refused = answer.unwrap_err();
        assert!(matches!(refused, Error::Unavailable { .. }), "{refused}");
        let cause = refused.source().unwrap().to_string();
        assert_eq!(
            cause,
            "INSERT hapax.ledger, hapax.events, hapax.work, hapax.tallies in accept/at_once: ERROR 55000: not today"
        );
        assert!(!format!("{refused:?}").contains("secret"), "{refused:?}");
    }
}

/// A prepared statement whose columns have changed is prepared again, and the caller never notices.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_changes_its_type_disturbs_no_running_store() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    for _ in 0..2 {
        accept(&store, maker.event("evt_1")).await.unwrap();
    }
    let admin = database.client().await.unwrap();
    admin
        .batch_execute("ALTER TABLE hapax.ledger ALTER COLUMN content_rule TYPE varchar COLLATE \"C\"")
        .await
        .unwrap();
    let again = accept(&store, maker.event("evt_1")).await.unwrap();
    assert!(matches!(again, Claim::Seen(_)), "{again:?}");
    assert!(store.prepares());
}
