//! TLS, as each `sslmode` means it.

use hapax_core::Operations;
use hapax_store_postgres::{OpenError, Options, PostgresStore};
use hapax_test_postgres::{Database, Server};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

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
        assert!(is_encrypted(&database, "watched").await, "{host}");
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

/// The library that checks certificates cannot read this one; without checks, it need not.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_version_1_will_do_where_nothing_is_verified() {
    let server = Server::encrypted_with_version_1().unwrap();
    let certificate = CertificateDer::from_pem_file(server.certificate()).unwrap();
    let version_3 = [0xa0, 0x03, 0x02, 0x01, 0x02];
    assert!(!certificate.windows(5).any(|bytes| bytes == version_3));
    let database = server.database().await.unwrap();
    for mode in ["prefer", "require"] {
        let url = database.url_at("127.0.0.1", &format!("sslmode={mode}&application_name={mode}"));
        let store = PostgresStore::open(Options::new(url)).await.unwrap();
        store.probe().await.unwrap();
        assert!(is_encrypted(&database, mode).await, "{mode}");
    }
    let roots = format!("sslrootcert={}", server.certificate().display());
    for options in [
        "sslmode=verify-ca".to_owned(),
        format!("sslmode=verify-ca&{roots}"),
    ] {
        let url = database.url_at("127.0.0.1", &options);
        PostgresStore::open(Options::new(url)).await.unwrap_err();
    }
}

/// Whether all connections under this name are encrypted.
async fn is_encrypted(database: &Database, application: &str) -> bool {
    let admin = database.client().await.unwrap();
    let row = admin
        .query_one(
            "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
             WHERE a.application_name = $1",
            &[&application],
        )
        .await
        .unwrap();
    row.get(0)
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

/// Otherwise a man in the middle could read and answer everything: plain text was accepted where TLS was not offered.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_another_machine_is_verified_unless_its_url_says_otherwise() {
    let (plain, encrypted) = (Server::shared().unwrap(), Server::encrypted().unwrap());
    let here = plain.database().await.unwrap();
    let there = encrypted.database().await.unwrap();
    let another = |database: &Database, options: &str| {
        let options = format!("hostaddr=127.0.0.1&{options}");
        Options::new(database.url_at("db.example.com", &options))
    };
    for database in [&here, &there] {
        let error = PostgresStore::open(another(database, "")).await.unwrap_err();
        let OpenError::Unreachable { source } = error else {
            panic!("{error}");
        };
        let said = source.to_string();
        for way_out in ["sslrootcert=FILE", "sslmode=require", "sslmode=disable"] {
            assert!(said.contains(way_out), "{said}");
        }
        // Connections to this machine need no TLS.
        let local = Options::new(database.url_at("localhost", ""));
        PostgresStore::open(local).await.unwrap();
    }
    PostgresStore::open(another(&there, "sslmode=require"))
        .await
        .unwrap();
    PostgresStore::open(another(&here, "sslmode=disable"))
        .await
        .unwrap();
}
