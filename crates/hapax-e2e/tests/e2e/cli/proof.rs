//! `hapax demo`: the proof that anyone can run.

use std::time::Duration;

use hapax_test_postgres::Server;

use hapax_testkit::{run, within};

#[tokio::test]
async fn the_demo_loses_nothing_and_doubles_nothing() {
    prove(&["demo", "--events", "300", "--json"]).await;
}

#[tokio::test]
async fn nor_does_it_on_postgres() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    prove(&["demo", "--events", "300", "--json", "--store", &database.url()]).await;
}

async fn prove(arguments: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let demo = run(directory.path(), arguments);
    let proof = within("the demo ends", Duration::from_secs(80), demo)
        .await
        .json();
    let count = |name: &str| {
        proof[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no `{name}` in {proof}"))
    };
    assert_eq!((count("lost"), count("doubled")), (0, 0), "{proof}");
    assert_eq!((count("accepted"), count("effects")), (300, 300), "{proof}");
    assert_eq!(count("sql_effects"), 300, "{proof}");
    assert_eq!(count("sent"), 300, "{proof}");
    assert!(count("duplicates") > 300 && count("attempts") >= 300, "{proof}");
}

#[tokio::test]
async fn the_benchmark_takes_no_database_that_has_an_inbox_or_a_store_and_leaves_it_alone() {
    let server = Server::shared().unwrap();
    for tables in [
        "create table hapax_inbox (event_id text); insert into hapax_inbox values ('evt_1')",
        "create schema hapax; create table hapax.ledger (event_id text)",
    ] {
        let database = server.database().await.unwrap();
        let client = database.client().await.unwrap();
        client.batch_execute(tables).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let bench = run(
                directory.path(),
                &["bench", "--quick", "--store", &database.url()],
            )
            .await;
            bench.assert_code(2);
        }
        let left = "select count(*) from pg_tables where tablename in ('hapax_inbox', 'ledger')";
        assert_eq!(
            client.query_one(left, &[]).await.unwrap().get::<_, i64>(0),
            1,
            "{tables}"
        );
    }
}
