//! A primary that dies while a standby takes over, and a server that is read-only: the store keeps working.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hapax_core::store::{Claim, Error};
use hapax_core::{Operations, Store};
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::{Database, Server, Stop};

use crate::bench::{Maker, accept, open};
use crate::disaster::{SENDERS, insist, send, worked_off};

/// The database on both servers.
fn url(primary: &Server, standby: &Server, database: &Database) -> String {
    let (one, other, name) = (primary.port(), standby.port(), database.name());
    format!(
        "postgres://postgres@127.0.0.1:{one},127.0.0.1:{other}/{name}\
         ?sslmode=disable&target_session_attrs=read-write"
    )
}

/// Makes commits wait for the standby from now on.
async fn replicate_synchronously(database: &Database) {
    let admin = database.client().await.unwrap();
    for sql in [
        "ALTER SYSTEM SET synchronous_standby_names = '*'",
        "SELECT pg_reload_conf()",
    ] {
        admin.execute(sql, &[]).await.unwrap();
    }
    let follows = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    while admin.query(follows, &[]).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_to_a_synchronous_standby_loses_and_doubles_nothing() {
    let primary = Arc::new(Server::private(&[]).unwrap());
    let standby = Arc::new(primary.standby().unwrap());
    let database = primary.database().await.unwrap();
    replicate_synchronously(&database).await;
    let options = Options::new(url(&primary, &standby, &database));
    let store = Arc::new(PostgresStore::open(options).await.unwrap());
    let epoch = store.connection_epoch();
    let maker = Maker::default();
    let early = maker.event("evt_early");
    insist(&store, early.clone()).await;

    let stop = Arc::new(AtomicBool::new(false));
    let senders = send(&store, &stop);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let servers = (Arc::clone(&primary), Arc::clone(&standby));
    tokio::task::spawn_blocking(move || {
        servers.0.stop(Stop::Immediate).unwrap();
        servers.1.promote().unwrap();
    })
    .await
    .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.store(true, Ordering::Relaxed);
    let mut answered = vec![early.id];
    for sender in senders {
        answered.extend(sender.await.unwrap());
    }
    assert!(answered.len() > SENDERS);
    let Claim::Seen(entry) = accept(&store, early.clone()).await.unwrap() else {
        panic!("an event from before the failover is new again");
    };
    assert_eq!(entry.id, early.id);
    assert!(store.connection_epoch() > epoch, "cached answers may be outdated");
    worked_off(&store, &answered).await;
}

/// As after a manual failover: the address stays the same, and the server behind it is read-only for a while. A
/// connection remembers that from its start, so it must not be kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_only_reads_is_thrown_away() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    store.probe().await.unwrap();
    let admin = database.client().await.unwrap();
    let name = database.name();
    let read_only = |setting: &str| format!("ALTER DATABASE {name} {setting} default_transaction_read_only");
    admin
        .batch_execute(&format!("{} = on", read_only("SET")))
        .await
        .unwrap();
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    admin.execute(kill, &[]).await.unwrap();
    let event = Maker::default().event("evt_1");
    // The first call may still fail because its old connection is gone.
    let mut said = String::new();
    while !said.contains("read-only") {
        let error = accept(&store, event.clone()).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
        said = error.to_string();
    }
    admin.batch_execute(&read_only("RESET")).await.unwrap();
    assert!(matches!(
        accept(&store, event.clone()).await.unwrap(),
        Claim::New { .. }
    ));
    assert!(matches!(accept(&store, event).await.unwrap(), Claim::Seen(_)));
}
