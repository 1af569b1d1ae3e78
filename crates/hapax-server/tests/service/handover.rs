//! A provider that sends its secret in a handshake: accepted only while a registration is open, used by every replica
//! and after a restart.

use hapax_server::{Server, Tuning};
use hapax_testkit::{HttpResponse, wire};

use super::site::{Site, admin, configuration, configuration_at, signed};

const ASANA: &str = "[sources.asana]\nprovider = \"asana\"\n";
const HANDED: &str = "b537207f20cbfa02357cf448134da559";
const BODY: &[u8] = br#"{"events":[{"action":"changed","resource":{"gid":"1","resource_type":"task"},"created_at":"2026-01-01T00:00:00Z"}]}"#;

async fn hand_over(server: &Server, secret: &str) -> HttpResponse {
    let headers = [("X-Hook-Secret".to_owned(), secret.to_owned())];
    wire::post(server.ingest_address(), "/in/asana", &headers, b"{}").await
}

async fn register(server: &Server, source: &str, body: &str) -> HttpResponse {
    let path = format!("/api/v1/sources/{source}/registration");
    admin(server, "POST", &path, body).await
}

async fn deliver(server: &Server, secret: &str) -> HttpResponse {
    let headers = signed("asana", secret, BODY);
    wire::post(server.ingest_address(), "/in/asana", &headers, BODY).await
}

#[tokio::test]
async fn a_secret_is_taken_only_while_a_registration_is_open_and_only_once() {
    let site = Site::start(ASANA).await;
    let server = &site.server;
    for _ in 0..2 {
        hand_over(server, HANDED)
            .await
            .assert_problem(403, "handshake_refused");
    }
    deliver(server, HANDED)
        .await
        .assert_problem(401, "signature_invalid");

    let opened = register(server, "asana", r#"{"for_seconds":60}"#).await;
    assert_eq!(opened.status, 200, "{}", opened.text());
    let taken = hand_over(server, HANDED).await;
    assert_eq!(taken.status, 200);
    assert_eq!(taken.header("x-hook-secret"), Some(HANDED));
    // The next one comes from someone else.
    hand_over(server, "intruder")
        .await
        .assert_problem(403, "handshake_refused");
    assert_eq!(deliver(server, HANDED).await.json()["accepted"], 1);
    assert_eq!(deliver(server, HANDED).await.json()["duplicate"], 1);
    deliver(server, "intruder")
        .await
        .assert_problem(401, "signature_invalid");
}

#[tokio::test]
async fn a_registration_is_for_senders_that_hand_over_and_has_a_limit() {
    let site = Site::start(ASANA).await;
    register(&site.server, "stripe", "")
        .await
        .assert_problem(409, "no_registration");
    register(&site.server, "nobody", "")
        .await
        .assert_problem(404, "unknown_source");
    let long = r#"{"for_seconds":86401}"#;
    register(&site.server, "asana", long)
        .await
        .assert_problem(400, "invalid_parameter");
    hand_over(&site.server, HANDED)
        .await
        .assert_problem(403, "handshake_refused");
}

#[tokio::test]
async fn a_handed_over_secret_is_stored_encrypted_and_known_after_a_restart() {
    let site = Site::start(ASANA).await;
    register(&site.server, "asana", "").await;
    assert_eq!(hand_over(&site.server, HANDED).await.status, 200);
    site.server.stop().await;
    for entry in std::fs::read_dir(site.dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let plain = HANDED.as_bytes();
        assert!(!bytes.windows(plain.len()).any(|window| window == plain));
    }
    let config = configuration(site.dir.path(), ASANA);
    let server = Server::start(config, Tuning::default()).await.unwrap();
    assert_eq!(deliver(&server, HANDED).await.json()["accepted"], 1);
    assert_eq!(deliver(&server, HANDED).await.json()["duplicate"], 1);
    server.stop().await;
}

#[tokio::test]
async fn what_one_replica_is_handed_another_verifies_with() {
    let postgres = hapax_test_postgres::Server::shared().unwrap();
    let database = postgres.database().await.unwrap();
    let start = async || {
        let config = configuration_at(&database.url(), ASANA);
        Server::start(config, Tuning::default()).await.unwrap()
    };
    let (one, other) = (start().await, start().await);
    // An unauthenticated request makes the first replica look for secrets just before there is one.
    assert_eq!(deliver(&one, "no-secret-of-anybody").await.status, 401);
    // The registration is opened on one replica and used on the other.
    assert_eq!(register(&one, "asana", "").await.status, 200);
    assert_eq!(hand_over(&other, HANDED).await.status, 200);
    hand_over(&one, HANDED)
        .await
        .assert_problem(403, "handshake_refused");
    assert_eq!(deliver(&one, HANDED).await.json()["accepted"], 1);
    assert_eq!(deliver(&other, HANDED).await.json()["duplicate"], 1);
    one.stop().await;
    other.stop().await;
}
