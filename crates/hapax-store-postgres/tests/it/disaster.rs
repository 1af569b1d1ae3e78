//! Connections and servers that die in the middle of accepts: nothing is lost, nothing is duplicated.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hapax_core::store::Claim;
use hapax_core::{EventId, NewEvent, Store};
use hapax_store_postgres::PostgresStore;
use hapax_test_postgres::{Database, Server, Stop};
use tokio::task::JoinHandle;

use crate::bench::{LONG, Maker, accept, done, lease, open};

pub(crate) const SENDERS: usize = 6;

/// Tasks that send each event, with the same id, until it is answered.
pub(crate) fn send(store: &Arc<PostgresStore>, stop: &Arc<AtomicBool>) -> Vec<JoinHandle<Vec<EventId>>> {
    let maker = Arc::new(Maker::default());
    (0..SENDERS)
        .map(|sender| {
            let (store, stop, maker) = (Arc::clone(store), Arc::clone(stop), Arc::clone(&maker));
            tokio::spawn(async move {
                let mut answered = Vec::new();
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    answered.push(insist(&store, maker.event(&format!("evt_{sender}_{number}"))).await);
                }
                answered
            })
        })
        .collect()
}

pub(crate) async fn insist(store: &PostgresStore, event: NewEvent) -> EventId {
    let id = event.id;
    loop {
        match accept(store, event.clone()).await {
            Ok(Claim::New { .. }) => return id,
            Ok(Claim::Seen(entry)) => {
                assert_eq!(entry.id, id, "no other task sends it");
                return id;
            }
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// Every answered event is stored, and another process sees it.
async fn all_there(database: &Database, answered: &[EventId]) {
    let store = open(database).await;
    worked_off(&store, answered).await;
}

/// Every answered event is stored once with its delivery; the deliveries are completed.
pub(crate) async fn worked_off(store: &PostgresStore, answered: &[EventId]) {
    let mut worked = Vec::new();
    loop {
        let leased = lease(store, 500, LONG).await.leased;
        if leased.is_empty() {
            break;
        }
        let reports = leased.iter().map(|leased| done(leased.hold())).collect();
        store.finish(reports).await.unwrap();
        worked.extend(leased.into_iter().map(|leased| leased.event.id));
    }
    let distinct: BTreeSet<_> = worked.iter().copied().collect();
    assert_eq!(distinct.len(), worked.len(), "nothing is doubled");
    assert_eq!(distinct, answered.iter().copied().collect(), "nothing is lost");
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.events, answered.len() as u64, "the sums agree");
}

#[tokio::test(flavor = "multi_thread")]
async fn terminated_backends_lose_and_double_nothing() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let admin = database.client().await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let senders = send(&store, &stop);
    let epoch = store.connection_epoch();
    for _ in 0..15 {
        tokio::time::sleep(Duration::from_millis(60)).await;
        admin
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
                &[],
            )
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_millis(60)).await;
    stop.store(true, Ordering::Relaxed);
    let mut answered = Vec::new();
    for sender in senders {
        answered.extend(sender.await.unwrap());
    }
    assert!(answered.len() > SENDERS);
    assert!(store.connection_epoch() > epoch, "cached answers may be outdated");
    all_there(&database, &answered).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_and_restarted_server_loses_and_doubles_nothing() {
    let server = Server::private(&[]).unwrap();
    let database = server.database().await.unwrap();
    let store = open(&database).await;
    let stop = Arc::new(AtomicBool::new(false));
    let senders = send(&store, &stop);
    let server = Arc::new(server);
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let server = Arc::clone(&server);
        tokio::task::spawn_blocking(move || {
            server.stop(Stop::Immediate).unwrap();
            server.start().unwrap();
        })
        .await
        .unwrap();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.store(true, Ordering::Relaxed);
    let mut answered = Vec::new();
    for sender in senders {
        answered.extend(sender.await.unwrap());
    }
    assert!(answered.len() > SENDERS);
    all_there(&database, &answered).await;
}
