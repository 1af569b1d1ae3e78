//! TLS, as each `sslmode` means it.

use hapax_core::Operations;
use hapax_store_postgres::{OpenError, Options, PostgresStore};
use hapax_test_postgres::Server;

#[tokio::test(flavor = "multi_thread")]
async fn each_mode_trusts_as_it_says() {
    let server = Server::encrypted().unwrap();
    let database = server.database().await.unwrap();
    let roots = format!("sslrootcert={}", server.authority().display());
    for (host, options) in [
        ("127.0.0.1", "sslmode=prefer".to_owned()),
        ("127.0.0.1", "sslmode=require".to_owned()),
        ("127.0.0.1", format!("sslmode=require&{roots}")),
        ("127.0.0.1", format!("sslmode=verify-ca&{roots}")),
        ("localhost", format!("sslmode=verify-full&{roots}")),
    ] {
        let options = database.url_at(host, &format!("{options}&application_name=watched"));
        let store = PostgresStore::open(Options::new(options)).await.unwrap();
        store.probe().await.unwrap();
        let admin = database.client().await.unwrap();
        let row = admin
            .query_one(
                "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
                 WHERE a.application_name = 'watched'",
                &[],
            )
            .await
            .unwrap();
        assert!(row.get::<_, bool>(0), "{host} is encrypted");
    }
    for (host, options) in [
        ("localhost", "sslmode=verify-full".to_owned()),
        ("localhost", "sslmode=verify-ca".to_owned()),
        ("127.0.0.1", format!("sslmode=verify-full&{roots}")),
    ] {
        let url = database.url_at(host, &options);
        let error = PostgresStore::open(Options::new(url)).await.unwrap_err();
        assert!(
            matches!(error, OpenError::Unreachable { .. }),
            "{host} {options}: {error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_refused_where_it_is_required() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let prefer = database.url_at("127.0.0.1", "sslmode=prefer");
    PostgresStore::open(Options::new(prefer)).await.unwrap();
    let require = database.url_at("127.0.0.1", "sslmode=require");
    let error = PostgresStore::open(Options::new(require)).await.unwrap_err();
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
}
