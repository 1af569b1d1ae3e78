//! A reload swaps sources and destinations and drops no request. Every delivery is made twice.

use hapax_testkit::{Sink, Wire};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::site::{OTHER_SECRET, STRIPE, Site, now, stripe_headers, stripe_headers_with};

#[tokio::test]
async fn no_request_is_dropped_while_the_configuration_changes() {
    let site = Arc::new(Site::start("").await);
    let done = Arc::new(AtomicBool::new(false));
    let mut senders = tokio::task::JoinSet::new();
    for sender in 0..4 {
        let (site, done) = (Arc::clone(&site), Arc::clone(&done));
        senders.spawn(async move {
            let mut wire = Wire::open(site.server.ingest_address()).await;
            let mut sent = 0_u32;
            while !done.load(Ordering::Relaxed) || sent == 0 {
                let body = format!(r#"{{"id":"evt_{sender}_{sent}"}}"#);
                for status in ["accepted", "duplicate"] {
                    let reply = wire
                        .post("/in/stripe", &stripe_headers(body.as_bytes()), body.as_bytes())
                        .await;
                    assert_eq!(reply.status, 200, "{reply:?}");
                    assert_eq!(reply.json()["status"], status);
                }
                sent += 1;
            }
            sent
        });
    }
    for round in 0..50 {
        let more = if round % 2 == 0 {
            "[sources.more]\nprovider = \"github\"\nsecrets = [\"env:SECRET\"]\n"
        } else {
            ""
        };
        site.reload(&format!("{STRIPE}{more}")).await;
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::Relaxed);
    while let Some(sent) = senders.join_next().await {
        assert!(sent.unwrap() > 0);
    }
}

#[tokio::test]
async fn sources_secrets_and_destinations_change_and_the_ledger_stays() {
    let site = Site::start("").await;
    assert_eq!(site.stripe("evt_1").await.json()["status"], "accepted");
    let mut sink = Sink::start().await;
    let text = format!(
        "[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"env:OTHER_SECRET\"]\ndeliver_to = [\"app\"]\n\
         [destinations.app]\nkind = \"http\"\nurl = \"{}\"\n",
        sink.url()
    );
    site.reload(&text).await;
    site.stripe("evt_2")
        .await
        .assert_problem(401, "signature_invalid");
    for (id, status) in [
        ("evt_1", "duplicate"),
        ("evt_2", "accepted"),
        ("evt_2", "duplicate"),
    ] {
        let body = format!(r#"{{"id":"{id}","type":"invoice.paid"}}"#);
        let headers = stripe_headers_with(OTHER_SECRET, now(), body.as_bytes());
        let reply = site.post("/in/stripe", &headers, body.as_bytes()).await;
        assert_eq!(reply.json()["status"], status, "{id}");
    }
    assert_eq!(sink.next().await.headers["hapax-event-id"], "evt_2");
    site.reload("").await;
    site.stripe("evt_3").await.assert_problem(404, "unknown_source");
}
