//! The URL that a provider calls: with a trailing slash, or behind a proxy that changes the path.

use std::time::Duration;

use hapax_verify::sign::Signer;
use hapax_verify::{CustomScheme, Scheme};

use hapax_testkit::{Delivery, Sender, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(20);
const SECRET: &str = "a secret that signs URLs";
const VERIFY: &str = "scheme = \"hmac-sha256\"\nheader = \"x-signature\"\nsigned = \"{url}\\n{body}\"";

/// A provider that signs the URL it was given, and calls another path.
fn signed(id: &str, url: &str, path: &str) -> Delivery {
    let custom: CustomScheme = toml::from_str(VERIFY).unwrap();
    let signer = Signer::new(&Scheme::try_from(custom).unwrap(), SECRET).unwrap();
    let body = format!("{{\"id\":\"{id}\"}}");
    let headers = signer.sign(id, 0, "POST", url, body.as_bytes());
    Delivery {
        event_id: id.to_owned(),
        path: path.to_owned(),
        headers: headers
            .into_iter()
            .map(|(name, value)| (name, value.into_bytes()))
            .collect(),
        body: body.into(),
    }
}

fn inhouse(lines: &str) -> String {
    format!(
        "[sources.inhouse]\nsecrets = [\"{SECRET}\"]\nevent_id = \"body:/id\"\ndeliver_to = [\"app\"]\n{lines}\n\
         [sources.inhouse.verify]\n{VERIFY}\n"
    )
}

#[tokio::test]
async fn a_slash_after_the_name_is_the_same_source() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    service
        .deliver_twice(&delivery.clone().at_path("/in/stripe/"))
        .await;
    service.deliver(&delivery).await.assert_durable("duplicate");
    sink.until_effects(1, LIMIT).await;
    assert_eq!(sink.applications(), 1);
    for path in ["/in/stripe//", "/in//stripe", "/in/stripe/more", "/in/"] {
        let refused = service.deliver(&delivery.clone().at_path(path)).await;
        refused.assert_problem(404, "unknown_source");
    }
}

#[tokio::test]
async fn a_url_is_signed_as_it_was_called_with_its_slash_and_query() {
    let sink = Sink::start().await;
    let service = Setup::new()
        .server("public_url = \"https://hooks.example.com\"")
        .table(&inhouse(""))
        .http("app", &sink.url(), "")
        .start()
        .await;
    for (id, path) in [
        ("e1", "/in/inhouse"),
        ("e2", "/in/inhouse/"),
        ("e3", "/in/inhouse/?tenant=7"),
    ] {
        let url = format!("https://hooks.example.com{path}");
        service.deliver_twice(&signed(id, &url, path)).await;
    }
    // The slash is part of the signed URL.
    let other = signed("e4", "https://hooks.example.com/in/inhouse", "/in/inhouse/");
    for _ in 0..2 {
        service
            .deliver(&other)
            .await
            .assert_problem(401, "signature_invalid");
    }
    sink.until_effects(3, LIMIT).await;
    assert_eq!(sink.applications(), 3);
}

#[tokio::test]
async fn a_source_behind_a_proxy_that_changes_the_path_has_a_url_of_its_own() {
    const OUTSIDE: &str = "https://hooks.example.com/webhooks/v2/inhouse";
    let sink = Sink::start().await;
    let service = Setup::new()
        .server("public_url = \"https://elsewhere.example.com\"")
        .table(&inhouse(&format!("public_url = \"{OUTSIDE}\"")))
        .http("app", &sink.url(), "")
        .start()
        .await;
    service.deliver_twice(&signed("e1", OUTSIDE, "/in/inhouse")).await;
    let with_query = format!("{OUTSIDE}?tenant=7");
    service
        .deliver_twice(&signed("e2", &with_query, "/in/inhouse?tenant=7"))
        .await;
    let of_server = signed("e3", "https://elsewhere.example.com/in/inhouse", "/in/inhouse");
    for _ in 0..2 {
        service
            .deliver(&of_server)
            .await
            .assert_problem(401, "signature_invalid");
    }
    sink.until_effects(2, LIMIT).await;
    assert_eq!(sink.applications(), 2);

    // The commands that sign or show the URL know it, too.
    for expected in ["accepted", "duplicate"] {
        let sent = service.hapax(&["send", "inhouse", "--id", "e4"]).await;
        sent.assert_code(0);
        assert!(sent.stdout.contains(expected), "{sent:#?}");
    }
    let sources = service.api("sources").await;
    assert!(sources.to_string().contains(OUTSIDE), "{sources}");
    service.hapax(&["doctor"]).await.assert_code(0);
}
