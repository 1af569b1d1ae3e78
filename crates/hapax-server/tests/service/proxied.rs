//! Behind a trusted proxy, limits apply to the client and not to the proxy. Every delivery is made twice.

use hapax_listen as listen;
use hapax_server::{Server, Tuning};
use hapax_testkit::{HttpResponse, Wire};

use super::limits::UNPROVEN;
use super::site::{STRIPE, Site, configuration, stripe_headers};

const BODY: &[u8] = br#"{"id":"evt_1"}"#;
const CLIENTS_MAX: usize = 2;

async fn behind_a_proxy() -> Site {
    let tuning = Tuning::default();
    let listen = listen::Limits {
        peer_connections_max: CLIENTS_MAX,
        ..tuning.listen
    };
    let dir = tempfile::tempdir().unwrap();
    let mut config = configuration(dir.path(), STRIPE);
    config.server.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    let server = Server::start(config, Tuning { listen, ..tuning }).await.unwrap();
    Site { server, dir }
}

async fn deliver(site: &Site, client: &str) -> HttpResponse {
    let mut headers = stripe_headers(BODY);
    headers.push(("x-forwarded-for".to_owned(), client.to_owned()));
    site.post("/in/stripe", &headers, BODY).await
}

#[tokio::test]
async fn a_client_that_holds_requests_open_takes_only_its_own_share() {
    let site = behind_a_proxy().await;
    let mut held = Vec::new();
    for _ in 0..CLIENTS_MAX {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        let beginning = format!(
            "{UNPROVEN}x-forwarded-for: 203.0.113.7\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n"
        );
        wire.say(beginning.as_bytes()).await;
        // The service waits for its body, so it is counted.
        assert_eq!(wire.hear().await.status, 100);
        held.push(wire);
    }
    let one_more = deliver(&site, "203.0.113.7").await;
    one_more.assert_problem(503, "overloaded");
    assert_eq!(one_more.header("retry-after"), Some("1"));
    for status in ["accepted", "duplicate"] {
        assert_eq!(deliver(&site, "203.0.113.8").await.json()["status"], status);
    }
    // From an untrusted address the header is ignored, and only the address counts.
    let mut stranger = Wire::open_from("127.0.0.2", site.server.ingest_address()).await;
    let forged = [("x-forwarded-for".to_owned(), "203.0.113.7".to_owned())];
    let reply = stranger.post("/in/stripe", &forged, BODY).await;
    reply.assert_problem(401, "signature_missing");
}

#[tokio::test]
async fn the_connections_of_a_trusted_proxy_are_not_those_of_one_peer() {
    let site = behind_a_proxy().await;
    let address = site.server.ingest_address();
    let mut idle = Vec::new();
    for _ in 0..4 * CLIENTS_MAX {
        idle.push(Wire::open(address).await);
    }
    for status in ["accepted", "duplicate"] {
        assert_eq!(deliver(&site, "203.0.113.7").await.json()["status"], status);
    }
    // After a reload without the setting, the proxy is a peer like any other.
    site.reload(STRIPE).await;
    for _ in 0..CLIENTS_MAX {
        idle.push(Wire::open(address).await);
    }
    site.post("/in/stripe", &stripe_headers(BODY), BODY)
        .await
        .assert_problem(503, "overloaded");
}
