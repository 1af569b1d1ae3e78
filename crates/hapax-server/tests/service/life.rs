//! Starting and stopping.

use std::time::{Duration, Instant};

use hapax_server::{Server, Tuning};
use hapax_testkit::{Sink, Wire};

use super::site::{STRIPE, Site, configuration, stripe_headers};

const BODY: &[u8] = br#"{"id":"evt_1","type":"invoice.paid"}"#;

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn what_was_accepted_is_known_after_a_restart() {
    let site = Site::start("").await;
    let first = site.stripe("evt_1").await;
    site.server.stop().await;
    let server = Server::start(configuration(site.dir.path(), STRIPE), Tuning::default())
        .await
        .unwrap();
    let mut wire = Wire::open(server.ingest_address()).await;
    let second = wire.post("/in/stripe", &stripe_headers(BODY), BODY).await;
    assert_eq!(second.json()["status"], "duplicate");
    assert_eq!(second.json()["id"], first.json()["id"]);
    server.stop().await;
}

#[tokio::test]
async fn stopping_ends_idle_connections_and_is_quick() {
    let site = Site::start("").await;
    let mut idle = Wire::open(site.server.ingest_address()).await;
    let mut used = Wire::open(site.server.ingest_address()).await;
    assert_eq!(
        used.post("/in/stripe", &stripe_headers(BODY), BODY).await.status,
        200
    );
    let begun = Instant::now();
    site.server.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(idle.hear_out().await.is_empty());
    assert!(used.hear_out().await.is_empty());
}

#[tokio::test]
async fn a_delivery_that_runs_is_finished_before_the_end() {
    let mut sink = Sink::start().await;
    let more = format!("[destinations.app]\nkind = \"http\"\nurl = \"{}\"\n", sink.url());
    let text = format!("{STRIPE}deliver_to = [\"app\"]\n{more}");
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(configuration(dir.path(), &text), Tuning::default())
        .await
        .unwrap();
    let mut wire = Wire::open(server.ingest_address()).await;
    for _ in 0..2 {
        wire.post("/in/stripe", &stripe_headers(BODY), BODY).await;
    }
    // Attempts that have not begun are returned, and begin after the next start.
    sink.next().await;
    server.stop().await;
    assert_eq!(sink.rest().len(), 0);
}

#[tokio::test]
async fn a_second_service_on_the_same_file_is_refused_with_what_to_do() {
    let site = Site::start("").await;
    let again = Server::start(configuration(site.dir.path(), STRIPE), Tuning::default()).await;
    let message = chain(&again.unwrap_err());
    assert!(
        message.contains("hapax.db") && message.contains("another process"),
        "{message}"
    );
    assert_eq!(site.stripe("evt_1").await.json()["status"], "accepted");
    assert_eq!(site.stripe("evt_1").await.json()["status"], "duplicate");
}

#[tokio::test]
async fn a_taken_port_is_named_with_its_key() {
    let site = Site::start("").await;
    let dir = tempfile::tempdir().unwrap();
    let mut config = configuration(dir.path(), STRIPE);
    config.server.admin_listen = site.server.admin_address();
    let message = chain(&Server::start(config, Tuning::default()).await.unwrap_err());
    assert!(
        message.contains(&site.server.admin_address().to_string()),
        "{message}"
    );
    assert!(message.contains("server.admin_listen"), "{message}");
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hapax.db");
    std::fs::write(&file, "this is a letter, not a database").unwrap();
    let error = Server::start(configuration(dir.path(), STRIPE), Tuning::default())
        .await
        .unwrap_err();
    assert!(chain(&error).contains("was not changed"), "{}", chain(&error));
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "this is a letter, not a database"
    );
}

#[tokio::test]
async fn a_running_service_is_ready() {
    let site = Site::start("").await;
    let mut wire = Wire::open(site.server.admin_address()).await;
    for path in ["/readyz", "/healthz"] {
        assert_eq!(wire.ask("GET", path, &[], b"").await.status, 200, "{path}");
    }
}
