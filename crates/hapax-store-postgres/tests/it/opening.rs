//! The start: migrations, schemas that are not ours, servers that may lose commits, and secrets.

use hapax_core::Operations;
use hapax_store_postgres::{OpenError, Options, PostgresStore, SCHEMA_VERSION};
use hapax_test_postgres::Server;

use crate::bench::open;

#[tokio::test(flavor = "multi_thread")]
async fn many_replicas_may_start_at_once_on_an_empty_database() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let starting: Vec<_> = (0..12)
        .map(|_| tokio::spawn(PostgresStore::open(Options::new(database.url()))))
        .collect();
    for start in starting {
        start.await.unwrap().unwrap().probe().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_is_refused_unless_it_still_serves_us() {
    let database = Server::shared().unwrap().database().await.unwrap();
    drop(open(&database).await);
    let admin = database.client().await.unwrap();
    admin
        .batch_execute("UPDATE hapax.meta SET value = 99 WHERE key = 'schema_version'")
        .await
        .unwrap();
    drop(open(&database).await);
    admin
        .batch_execute("UPDATE hapax.meta SET value = 98 WHERE key = 'min_compatible'")
        .await
        .unwrap();
    let error = PostgresStore::open(Options::new(database.url()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, OpenError::NewerSchema { found: 99, supported } if supported == SCHEMA_VERSION),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_schema_is_left_alone() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let admin = database.client().await.unwrap();
    admin
        .batch_execute("CREATE SCHEMA hapax; CREATE TABLE hapax.meta (key text, value int8)")
        .await
        .unwrap();
    let error = PostgresStore::open(Options::new(database.url()))
        .await
        .unwrap_err();
    assert!(matches!(error, OpenError::NotOurs), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_forget_is_refused_unless_allowed() {
    let server = Server::private(&["fsync = off"]).unwrap();
    let database = server.database().await.unwrap();
    let mut options = Options::new(database.url());
    let error = PostgresStore::open(options.clone()).await.unwrap_err();
    assert!(
        matches!(error, OpenError::UnsafeDurability { setting: "fsync" }),
        "{error}"
    );
    options.allow_unsafe_durability = true;
    PostgresStore::open(options).await.unwrap().probe().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_do_not_wait_for_the_disk_are_refused() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let admin = database.client().await.unwrap();
    let alter = format!("ALTER DATABASE {} SET synchronous_commit = off", database.name());
    admin.batch_execute(&alter).await.unwrap();
    let error = PostgresStore::open(Options::new(database.url()))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            OpenError::UnsafeDurability {
                setting: "synchronous_commit"
            }
        ),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_error_shows_the_password() {
    for url in [
        "postgres://me:hunter2@127.0.0.1:1/hapax",
        "postgres://me:hunter2@127.0.0.1:nonsense/hapax",
        "postgres://me:hunter2@127.0.0.1/hapax?sslmode=verify-full&sslrootcert=/nowhere/hunter",
        "mysql://me:hunter2@127.0.0.1/hapax",
    ] {
        let options = Options::new(url);
        assert!(!format!("{options:?}").contains("hunter2"));
        let error = PostgresStore::open(options).await.unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
