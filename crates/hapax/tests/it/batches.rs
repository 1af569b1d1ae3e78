//! Many claims in one statement.

use hapax::inbox::PreparedClaims;
use hapax::{Claim, Event, Inbox};
use tokio_postgres::{Client, Transaction};

use crate::subject::Subject as _;
use crate::tokio_postgres::TokioPostgres;

fn event(id: &str, body: &str) -> Event {
    Event::new("stripe", id).unwrap().with_body(body.as_bytes())
}

#[tokio::test]
async fn a_batch_says_of_each_event_what_a_single_claim_would() {
    let subject = TokioPostgres::new().await;
    let client = subject.database.client().await.unwrap();
    says_of_each(client, None).await;
}

#[tokio::test]
async fn a_prepared_batch_says_the_same() {
    let subject = TokioPostgres::new().await;
    let client = subject.database.client().await.unwrap();
    let prepared = PreparedClaims::new(&client).await.unwrap();
    says_of_each(client, Some(&prepared)).await;
}

async fn says_of_each(mut client: Client, prepared: Option<&PreparedClaims>) {
    let tx = client.transaction().await.unwrap();
    let known = [event("known", "a")];
    assert_eq!(claim_by(&tx, prepared, &known).await, [Claim::First]);
    tx.commit().await.unwrap();

    let events = [
        event("new", "a"),
        event("known", "a"),
        event("new", "a"),
        event("known", "b"),
        event("new", "b"),
        event("new", "a").in_generation(1),
        Event::new("stripe", "known").unwrap().replayed(),
    ];
    let tx = client.transaction().await.unwrap();
    let claims = claim_by(&tx, prepared, &events).await;
    tx.commit().await.unwrap();
    let expected = [
        Claim::First,
        Claim::Again,
        Claim::Again,
        Claim::OtherBody,
        Claim::OtherBody,
        Claim::First,
        Claim::Again,
    ];
    assert_eq!(claims, expected);

    let tx = client.transaction().await.unwrap();
    let claims = claim_by(&tx, prepared, &events).await;
    assert!(!claims.contains(&Claim::First), "delivered twice: {claims:?}");
    assert_eq!(claim_by(&tx, prepared, &[]).await, []);
    let too_many = vec![event("many", "{}"); hapax::limits::BATCH_EVENTS_MAX + 1];
    assert!(
        !inbox()
            .claim_many(&tx, &too_many)
            .await
            .unwrap_err()
            .is_retryable()
    );
}

async fn claim_by(tx: &Transaction<'_>, prepared: Option<&PreparedClaims>, events: &[Event]) -> Vec<Claim> {
    match prepared {
        Some(prepared) => inbox().claim_many_prepared(tx, prepared, events).await.unwrap(),
        None => inbox().claim_many(tx, events).await.unwrap(),
    }
}

/// A third transaction holds the event in the middle. Without sorting, one batch would reach it from below and the
/// other from above, and once it is released, each would wait for a row that the other holds.
#[tokio::test(flavor = "multi_thread")]
async fn batches_in_opposite_orders_do_not_deadlock_and_each_event_is_first_once() {
    let subject = TokioPostgres::new().await;
    let mut client = subject.database.client().await.unwrap();
    let middle = client.transaction().await.unwrap();
    let held = inbox()
        .claim_many(&middle, &[event("evt_100", "{}")])
        .await
        .unwrap();
    assert_eq!(held, [Claim::First]);

    let upwards: Vec<Event> = (0..200).map(|n| event(&format!("evt_{n:03}"), "{}")).collect();
    let downwards: Vec<Event> = upwards.iter().rev().cloned().collect();
    let batches = [upwards, downwards].map(|events| tokio::spawn(claim(subject.clone(), events)));
    while subject.number("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").await < 2 {
        tokio::task::yield_now().await;
    }
    middle.rollback().await.unwrap();
    let mut first = 0;
    for batch in batches {
        first += batch.await.unwrap();
    }
    assert_eq!(first, 200);
}

fn inbox() -> Inbox {
    Inbox::new("billing").unwrap()
}

/// Claims and commits; returns how many were first.
async fn claim(subject: TokioPostgres, events: Vec<Event>) -> usize {
    let mut client = subject.database.client().await.unwrap();
    let tx = client.transaction().await.unwrap();
    let claims = inbox().claim_many(&tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    claims.iter().filter(|claim| **claim == Claim::First).count()
}
