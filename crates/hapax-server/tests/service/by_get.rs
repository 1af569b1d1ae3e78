//! Deliveries by GET: accepted from providers that use them, and from no one else.

use std::path::Path;

use hapax_config::{self as config, Environment};
use hapax_server::{Server, Tuning};
use hapax_testkit::{HttpResponse, Sink, Wire};
use hapax_verify::sign::{Delivery, ProviderSigner};
use hapax_verify::{Options, catalogue};

use super::site::{SECRET, Site, now, stripe_headers};

const FORM: &str = "MessageSid=SM00000000000000000000000000000abc&MessageStatus=delivered";

async fn get(server: &Server, path: &str, headers: &[(String, String)]) -> HttpResponse {
    let mut wire = Wire::open(server.ingest_address()).await;
    wire.ask("GET", path, headers, b"").await
}

async fn twilio(dir: &Path, sink: &Sink) -> Server {
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\npublic_url = \"https://hooks.example.com\"\n\
         [store]\nurl = \"sqlite:{}\"\n[sources.twilio]\nprovider = \"twilio\"\nsecrets = [\"env:SECRET\"]\n\
         deliver_to = [\"app\"]\n[destinations.app]\nkind = \"http\"\nurl = \"{}\"\n",
        dir.join("hapax.db").display(),
        sink.url(),
    );
    let environment = Environment::with([("SECRET", SECRET)]);
    let config = config::parse(&text, Path::new("hapax.toml"), &environment, &[]).unwrap();
    Server::start(config, Tuning::default()).await.unwrap()
}

fn callback() -> Delivery {
    let signer = ProviderSigner::new(catalogue::get("twilio").unwrap(), SECRET, &Options::default()).unwrap();
    signer.sign(Delivery {
        method: "GET".to_owned(),
        url: "https://hooks.example.com/in/twilio".to_owned(),
        timestamp: now(),
        body: FORM.as_bytes().to_vec(),
        ..Delivery::default()
    })
}

#[tokio::test]
async fn a_callback_by_get_arrives_once_with_its_query_as_a_form() {
    let mut sink = Sink::start().await;
    let dir = tempfile::tempdir().unwrap();
    let server = twilio(dir.path(), &sink).await;
    let callback = callback();
    let path = callback.url.strip_prefix("https://hooks.example.com").unwrap();
    for _ in 0..2 {
        let reply = get(&server, path, &callback.headers).await;
        assert_eq!((reply.status, reply.text().as_str()), (200, ""), "{reply:?}");
    }
    let seen = sink.next().await;
    assert_eq!(&seen.body[..], FORM.as_bytes());
    assert_eq!(seen.headers["content-type"], "application/x-www-form-urlencoded");
    assert_eq!(
        seen.headers["hapax-event-id"],
        "SM00000000000000000000000000000abc:delivered"
    );
    // The change is not covered by the signature, so it is not a delivery.
    let changed = path.replace("delivered", "failed");
    assert_eq!(get(&server, &changed, &callback.headers).await.status, 401);
    assert_eq!(get(&server, path, &[]).await.status, 401);
    server.stop().await;
    assert!(sink.rest().is_empty());
}

#[tokio::test]
async fn a_get_to_any_other_sender_is_no_delivery_whatever_it_carries() {
    let site = Site::start("").await;
    for headers in [Vec::new(), stripe_headers(b"")] {
        get(&site.server, "/in/stripe?id=evt_1", &headers)
            .await
            .assert_problem(405, "method_not_allowed");
    }
}
