//! A batch is sent together with the beginning of its transaction. If that fails, nothing of the batch is written: the
//! identities of events that are not stored would make every later delivery of them a duplicate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hapax_core::Store;
use hapax_core::store::Claim;
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::{Database, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{Maker, accept};

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
