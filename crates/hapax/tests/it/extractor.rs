//! The extractor: verified requests get in, raw; everything else is a problem with its code.

use axum::Router;
use axum::body::Body;
use axum::routing::post;
use hapax::webhook::{Source, Webhook, Webhooks};
use http::Request;
use tower::ServiceExt as _;

use crate::stripe::{SECRET, body, delivery, now, read, signed};

async fn show(webhook: Webhook) -> String {
    let index = webhook.secret_index().unwrap();
    let text = std::str::from_utf8(webhook.body()).unwrap().to_owned();
    assert!(webhook.headers().contains_key("stripe-signature"));
    assert!(webhook.signed_at().unwrap() <= webhook.received_at().as_seconds() + 1);
    let event = webhook.event();
    format!(
        "{} {} {:?} {index} {text}",
        event.source(),
        event.event_id(),
        webhook.event_type()
    )
}

fn app() -> Router {
    let source = Source::provider("stripe", &["whsec_older", SECRET])
        .unwrap()
        .body_limit(200);
    let all = async |Webhooks(events): Webhooks| events.len().to_string();
    Router::new()
        .route("/webhooks/stripe", post(show))
        .route("/all", post(all))
        .with_state(source)
}

async fn answer(request: Request<Body>) -> (u16, String) {
    read(app().oneshot(request).await.unwrap()).await
}

#[tokio::test]
async fn a_verified_delivery_comes_with_its_envelope_and_its_raw_body_each_time() {
    let raw = "{ \"type\":\"invoice.paid\",\n\"id\":\"evt_1\" }";
    for _ in 0..2 {
        let (status, text) = answer(delivery(raw)).await;
        assert_eq!(status, 200);
        assert_eq!(text, format!("stripe evt_1 Some(\"invoice.paid\") 1 {raw}"));
    }
    let mut request = delivery(raw);
    *request.uri_mut() = "/all".parse().unwrap();
    assert_eq!(answer(request).await, (200, "1".to_owned()));
}

#[tokio::test]
async fn what_is_not_proven_or_not_usable_is_refused_with_its_code() {
    let unsigned = Request::post("/webhooks/stripe")
        .body(Body::from(body("evt_1")))
        .unwrap();
    let long = body(&"x".repeat(300));
    for (request, status, code) in [
        (unsigned, 401, "signature_missing"),
        (
            signed("whsec_forged", now(), &body("evt_1")),
            401,
            "signature_invalid",
        ),
        (
            signed(SECRET, now() - 3600, &body("evt_1")),
            401,
            "timestamp_out_of_range",
        ),
        (delivery("{}"), 400, "event_id_missing"),
        (delivery("no json"), 400, "malformed_body"),
        (delivery(&long), 413, "body_too_large"),
    ] {
        let (got, text) = answer(request).await;
        assert_eq!(got, status, "{text}");
        assert!(text.contains(&format!("\"code\":\"{code}\"")), "{text}");
        assert!(!text.contains("whsec"), "{text}");
    }
}

#[test]
fn a_source_says_what_is_wrong_with_it_and_never_prints_a_secret() {
    let unknown = Source::provider("strype", &[SECRET]).unwrap_err();
    assert!(unknown.to_string().contains("strype"));
    assert!(Source::provider("stripe", &[] as &[&str]).is_err());
    let source = Source::provider("stripe", &[SECRET])
        .unwrap()
        .named("stripe-eu")
        .unwrap();
    assert!(format!("{source:?}").contains("stripe-eu") && !format!("{source:?}").contains(SECRET));
}
