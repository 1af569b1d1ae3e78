//! A batch is sent together with the beginning of its transaction. If that fails, nothing of the batch is written: the
//! identities of events that are not stored would make every later delivery of them a duplicate. A lease is sent in the
//! same way, or without a beginning where the session has the store's settings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hapax_core::store::{Candidates, Claim, LeaseOrder};
use hapax_core::{Owner, Store};
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::{Database, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{LONG, Maker, accept, lease};

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_transaction_did_not_begin_is_not_written() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let breaks = Arc::new(AtomicBool::new(false));
    let mut options = Options::new(url(&database, serve(server.port(), Arc::clone(&breaks)).await));
    options.connections_max = 1;
    let store = PostgresStore::open(options).await.unwrap();
    let maker = Maker::default();
    // Its statements are prepared from now on: what follows is sent at once.
    assert!(matches!(
        accept(&store, maker.event("evt_1")).await.unwrap(),
        Claim::New { .. }
    ));
    assert!(store.prepares(), "the proxy changes nothing else");

    breaks.store(true, Ordering::SeqCst);
    let refused = accept(&store, maker.event("evt_2")).await;
    assert!(refused.is_err(), "{refused:?}");
    breaks.store(false, Ordering::SeqCst);

    let admin = database.client().await.unwrap();
    let stored = "SELECT (SELECT count(*) FROM hapax.ledger), (SELECT count(*) FROM hapax.events)";
    let stored = admin.query_one(stored, &[]).await.unwrap();
    assert_eq!((stored.get::<_, i64>(0), stored.get::<_, i64>(1)), (1, 1));
    assert!(matches!(
        accept(&store, maker.event("evt_2")).await.unwrap(),
        Claim::New { .. }
    ));
    assert!(matches!(
        accept(&store, maker.event("evt_2")).await.unwrap(),
        Claim::Seen(_)
    ));
    assert_eq!(store.counts().await.unwrap().events, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_whose_transaction_did_not_begin_takes_nothing() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let breaks = Arc::new(AtomicBool::new(false));
    let url = url(&database, serve(server.port(), Arc::clone(&breaks)).await);
    // A pooler may be in between: every transaction then begins with its settings.
    let mut options = Options::new(format!("{url}&prepared_statements=true"));
    options.connections_max = 1;
    let store = PostgresStore::open(options).await.unwrap();
    let maker = Maker::default();
    for event_id in ["evt_1", "evt_2"] {
        accept(&store, maker.event(event_id)).await.unwrap();
    }
    // Its statement is prepared from now on: what follows is sent at once.
    assert_eq!(lease(&store, 1, LONG).await.leased.len(), 1);

    breaks.store(true, Ordering::SeqCst);
    let order = LeaseOrder {
        owner: Owner(1),
        destination: "billing".into(),
        limit: 2,
        lease_for: LONG,
        candidates: Candidates::Fresh,
    };
    let refused = store.lease(order).await;
    assert!(refused.is_err(), "{refused:?}");
    breaks.store(false, Ordering::SeqCst);

    let left = lease(&store, 2, LONG).await.leased;
    assert_eq!(left.len(), 1, "the second delivery is still due");
    assert_eq!(left[0].attempt, 1);
    assert_eq!(lease(&store, 2, LONG).await.leased.len(), 0);
}

#[tokio::test]
async fn a_lease_is_read_committed_whatever_the_database_prefers() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let admin = database.client().await.unwrap();
    let name = database.name();
    let prefer = format!("ALTER DATABASE \"{name}\" SET default_transaction_isolation = 'serializable'");
    admin.batch_execute(&prefer).await.unwrap();
    for settings in ["", "prepared_statements=true"] {
        let mut url = database.url();
        if !settings.is_empty() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(settings);
        }
        let store = PostgresStore::open(Options::new(url)).await.unwrap();
        admin
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS levels (level text);
                 CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO levels VALUES (current_setting('transaction_isolation'));
                     RETURN NEW;
                 END $$;
                 CREATE OR REPLACE TRIGGER note BEFORE UPDATE ON hapax.work FOR EACH ROW EXECUTE FUNCTION note()",
            )
            .await
            .unwrap();
        accept(&store, Maker::default().event(&format!("evt_{settings}")))
            .await
            .unwrap();
        assert_eq!(lease(&store, 1, LONG).await.leased.len(), 1);
    }
    let levels = admin.query("SELECT level FROM levels", &[]).await.unwrap();
    let levels: Vec<&str> = levels.iter().map(|row| row.get(0)).collect();
    assert_eq!(levels, ["read committed"; 2]);
}

fn url(database: &Database, port: u16) -> String {
    let name = database.name();
    format!("postgres://postgres@127.0.0.1:{port}/{name}?sslmode=disable")
}

/// A proxy that makes the beginning of a transaction unreadable while `breaks` is true. Returns its port.
async fn serve(server_port: u16, breaks: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", server_port)).await.unwrap();
            tokio::spawn(pass_on(client, server, Arc::clone(&breaks)));
        }
    });
    port
}

async fn pass_on(client: TcpStream, server: TcpStream, breaks: Arc<AtomicBool>) {
    let (mut requests, mut answers) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { copy(&mut from_server, &mut answers).await });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count) = requests.read(&mut bytes).await {
        let sent = &mut bytes[..count];
        if breaks.load(Ordering::SeqCst)
            && let Some(at) = sent.windows(5).position(|word| word == b"BEGIN")
        {
            sent[at] = b'X';
        }
        if count == 0 || to_server.write_all(sent).await.is_err() {
            return;
        }
    }
}
