//! Responses over TLS are the same as without it, over HTTP/1.1 and HTTP/2.

use serde_json::Value;

use super::{Authority, Curl, admin, serve};
use hapax_testkit::curl::{Answered, VERSIONS};
use hapax_testkit::{Delivery, Sender, Service};

async fn deliver(service: &Service, authority: &Authority, version: &str, delivery: &Delivery) -> Answered {
    let base = format!("https://{}", service.address());
    Curl::deliver(&base, delivery)
        .trusting(authority)
        .with(&[version])
        .run()
        .await
}

fn field(answer: &Answered, name: &str) -> String {
    let document: Value =
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    document[name].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn an_event_is_accepted_once_and_refusals_are_heard_by_either_version() {
    let authority = Authority::new();
    let service = serve(&authority, |setup| setup).await;
    let stripe = Sender::of("stripe");
    for (flag, version) in VERSIONS {
        let event = stripe.event(&format!("evt_{version}"));
        let first = deliver(&service, &authority, flag, &event).await;
        assert_eq!(
            (first.status, first.version.as_str()),
            (200, version),
            "{first:?}"
        );
        assert_eq!(field(&first, "status"), "accepted");
        assert_eq!(
            field(&deliver(&service, &authority, flag, &event).await, "status"),
            "duplicate"
        );

        let large = Delivery {
            body: vec![b'x'; 6 << 20].into(),
            ..event.clone()
        };
        for (delivery, status, code) in [
            (
                event.clone().with_other_header("stripe-signature", "t=1,v1=00"),
                401,
                "timestamp_out_of_range",
            ),
            (
                event.clone().without_header("stripe-signature"),
                401,
                "signature_missing",
            ),
            (event.clone().at_path("/in/strpie"), 404, "unknown_source"),
            (event.clone().at_path("/elsewhere"), 404, "not_found"),
            (large.clone(), 413, "body_too_large"),
            (large.at_path("/in/strpie"), 404, "unknown_source"),
        ] {
            let answer = deliver(&service, &authority, flag, &delivery).await;
            assert_eq!((answer.status, answer.code), (status, Some(0)), "{answer:?}");
            assert!(
                code == "timestamp_out_of_range" || field(&answer, "code") == code,
                "{answer:?}"
            );
        }
        let healthy = admin(&service, &authority, "/healthz").await;
        assert!(!healthy.is_empty());
    }
    let refused = admin(&service, &authority, "/metrics").await;
    assert!(
        refused.contains("hapax_rejected_total{source=\"stripe\",reason=\"body_too_large\"} 2"),
        "{refused}"
    );
}

#[tokio::test]
async fn plain_text_to_a_tls_port_is_told_so() {
    let authority = Authority::new();
    let service = serve(&authority, |setup| setup).await;
    for address in [service.address(), service.setup.admin] {
        for _ in 0..2 {
            let answer = Curl::get(&format!("http://{address}/in/stripe")).run().await;
            assert_eq!(answer.status, 400, "{answer:?}");
            assert_eq!(field(&answer, "code"), "tls_required");
        }
    }
    let event = Sender::of("stripe").event("evt_1");
    for status in ["accepted", "duplicate"] {
        assert_eq!(
            field(&deliver(&service, &authority, "--http2", &event).await, "status"),
            status
        );
    }
}

#[tokio::test]
async fn the_dashboards_cookie_is_for_tls_alone() {
    let authority = Authority::new();
    let service = serve(&authority, |setup| {
        setup.server("admin_token = \"0123456789abcdef\"")
    })
    .await;
    let url = format!("https://{}/login", service.setup.admin);
    for (flag, _) in VERSIONS {
        let answer = Curl::get(&url)
            .trusting(&authority)
            .with(&[flag, "--include", "--data", "token=0123456789abcdef&next=/"])
            .run()
            .await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let cookie = answer
            .body
            .lines()
            .find(|line| line.to_ascii_lowercase().starts_with("set-cookie:"));
        assert!(
            cookie.is_some_and(|cookie| cookie.contains("; Secure")),
            "{answer:?}"
        );
    }
}
