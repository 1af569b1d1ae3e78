//! The request that a destination gets.

use std::time::Duration;

use hapax_core::{Generation, Identity};
use hapax_verify::{Options, Request, Verification, Verifier, catalogue};
use serde_json::json;

use hapax_testkit::{Reply, Sender, Setup, Sink, eventually, now, secret_of};

const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_destination_gets_the_original_body_and_headers_and_those_of_ours() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe")
        .stripe_event("evt_1", "invoice.paid", &json!({"text": "ü \u{1f600}"}))
        .with_header("x-custom", "kept")
        .with_header("cookie", "session=secret")
        .with_header("authorization", "Bearer secret")
        .with_header("te", "trailers")
        .with_header("idempotency-key", "the-senders-own");
    service.deliver_twice(&delivery).await;
    sink.until_effects(1, LIMIT).await;
    let [got] = &sink.received()[..] else {
        panic!("{:?}", sink.received())
    };

    assert_eq!(
        (got.body.clone(), got.path.as_str()),
        (delivery.body.clone(), "/hook")
    );
    assert_eq!(got.header("x-custom"), Some("kept"));
    assert_eq!(
        got.header("stripe-signature").map(str::as_bytes),
        signature_of(&delivery)
    );
    for dropped in ["cookie", "authorization", "te"] {
        assert_eq!(got.header(dropped), None, "{dropped}");
    }
    assert_ne!(got.header("host"), Some(service.address().to_string().as_str()));

    let key = Identity::new("stripe", "evt_1").idempotency_key(Generation(0), &"app".into());
    assert_eq!(
        got.header("idempotency-key"),
        Some(key.to_string().as_str()),
        "as documented"
    );
    assert_eq!(
        got.header("hapax-original-idempotency-key"),
        Some("the-senders-own")
    );
    assert_eq!(got.header("hapax-source"), Some("stripe"));
    assert_eq!(got.header("hapax-event-id"), Some("evt_1"));
    assert_eq!(got.header("hapax-event-type"), Some("invoice.paid"));
    assert_eq!(got.header("hapax-attempt"), Some("1"));
    assert!(
        got.header("hapax-received-at")
            .is_some_and(|at| at.ends_with('Z')),
        "{:?}",
        got.headers
    );
    let trace = got.header("traceparent").unwrap_or_default();
    assert!(trace.len() == 55 && trace.starts_with("00-"), "{trace}");
}

#[tokio::test]
async fn a_body_that_is_no_text_arrives_byte_for_byte() {
    let sink = Sink::start().await;
    let setup = Setup::new()
        .source("github", "github", "deliver_to = [\"app\"]")
        .http("app", &sink.url(), "");
    let service = setup.start().await;
    let body: Vec<u8> = (0..=255_u8).cycle().take(100_000).collect();
    service
        .deliver_twice(&Sender::of("github").with_body("guid-1", body.clone()))
        .await;
    service
        .deliver_twice(&Sender::of("github").with_body("guid-2", Vec::new()))
        .await;
    sink.until_effects(2, LIMIT).await;
    assert_eq!(sink.received_for("guid-1")[0].body, body);
    assert!(sink.received_for("guid-2")[0].body.is_empty());
}

#[tokio::test]
async fn with_a_secret_the_request_is_signed_by_standard_webhooks() {
    let sink = Sink::start().await;
    let secret = secret_of("standard-webhooks");
    let service = Setup::stripe_to_with(&sink, &format!("secret = \"{secret}\""))
        .start()
        .await;
    service
        .deliver_twice(
            &Sender::of("stripe")
                .event("evt_1")
                .with_header("webhook-id", "the-senders"),
        )
        .await;
    sink.until_effects(1, LIMIT).await;
    let got = &sink.received()[0];
    let preset = catalogue::get("standard-webhooks").unwrap();
    let verifier = Verifier::new(&preset.recipe(), &[secret], &Options::default()).unwrap();
    let request = Request::new(&got.headers, &got.body, now());
    let verification = verifier.verify(&request).expect("our signature verifies");
    assert!(matches!(verification, Verification::Events(_)));
    assert_eq!(got.header("hapax-original-webhook-id"), Some("the-senders"));
}

#[tokio::test]
async fn what_a_sender_signs_as_svix_does_is_signed_by_us_for_the_same_library() {
    let sink = Sink::start().await;
    // Not the providers' secret.
    let secret = "whsec_c2VjcmV0IG9mIHRoZSBkZXN0aW5hdGlvbiBhbG9uZQ==";
    let mut setup = Setup::new().http("app", &sink.url(), &format!("secret = \"{secret}\""));
    let senders = ["svix", "clerk", "resend"];
    for sender in senders {
        setup = setup.source(sender, sender, "deliver_to = [\"app\"]");
    }
    let service = setup.start().await;
    for sender in senders {
        let id = format!("msg_{sender}");
        let sent = Sender::of(sender)
            .event(&id)
            .with_header("x-forwarded-host", "hooks.example.com");
        service.deliver_twice(&sent).await;
    }
    sink.until_effects(3, LIMIT).await;
    // It looks for `svix-*` before `webhook-*`, as Svix's libraries do.
    let svix = catalogue::get("svix").unwrap();
    let library = Verifier::new(&svix.recipe(), &[secret], &Options::default()).unwrap();
    for got in sink.received() {
        let verification = library.verify(&Request::new(&got.headers, &got.body, now()));
        assert!(
            matches!(verification, Ok(Verification::Events(_))),
            "{verification:?} {:?}",
            got.headers
        );
        assert_eq!(got.header("hapax-original-svix-id"), Some(got.event_id.as_str()));
        assert_eq!(got.header("x-forwarded-host"), None);
    }
}

#[tokio::test]
async fn a_key_is_quoted_where_the_destination_asks_for_it_and_stays_the_same_key() {
    let sink = Sink::that_first(|| Reply::Status(500)).await;
    let mut service = Setup::stripe_to_with(&sink, "idempotency_key = \"quoted\"")
        .start()
        .await;
    let sender = Sender::of("stripe");
    let id = service.deliver_twice(&sender.event("evt_1")).await;
    sink.until_effects(1, LIMIT).await;
    let key = Identity::new("stripe", "evt_1").idempotency_key(Generation(0), &"app".into());
    let keys = || -> Vec<String> {
        let received = sink.received();
        received
            .iter()
            .map(|got| got.header("idempotency-key").unwrap().to_owned())
            .collect()
    };
    assert_eq!(keys(), [format!("\"{key}\""), format!("\"{key}\"")]);
    let shown = service.api(&format!("events/{id}")).await;
    assert_eq!(shown["deliveries"][0]["idempotency_key"], key.to_string());

    // From the next attempt on, a reload writes the same key in the other format.
    service.reload(|setup| {
        let tables = setup.tables().replace("quoted", "plain");
        setup.with_tables(&tables)
    });
    eventually("the replay carries the key as it is", LIMIT, async || {
        service.hapax(&["replay", &id, "--mode", "all", "--yes"]).await;
        keys().contains(&key.to_string()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn without_a_secret_the_senders_own_signature_passes_through() {
    let sink = Sink::start().await;
    let setup = Setup::new().source("standard-webhooks", "standard-webhooks", "deliver_to = [\"app\"]");
    let service = setup.http("app", &sink.url(), "").start().await;
    let delivery = Sender::of("standard-webhooks").event("msg_1");
    service.deliver_twice(&delivery).await;
    sink.until_effects(1, LIMIT).await;
    let got = &sink.received()[0];
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let sent = delivery
            .headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_slice());
        assert_eq!(
            got.headers.get(name).map(http::HeaderValue::as_bytes),
            sent,
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_destination_gets_only_the_types_it_asked_for_and_the_rest_is_ignored() {
    let (some, all) = (Sink::start().await, Sink::start().await);
    let service = Setup::new()
        .source("stripe", "stripe", "deliver_to = [\"some\", \"all\"]")
        .http(
            "some",
            &some.url(),
            "events = [\"invoice.*\", \"charge.refunded\"]",
        )
        .http("all", &all.url(), "")
        .start()
        .await;
    let sender = Sender::of("stripe");
    for (id, kind) in [
        ("evt_1", "invoice.paid"),
        ("evt_2", "charge.refunded"),
        ("evt_3", "charge.created"),
        ("evt_4", "invoice"),
    ] {
        service
            .deliver_twice(&sender.stripe_event(id, kind, &json!({})))
            .await;
    }
    all.until_effects(4, LIMIT).await;
    some.until_effects(2, LIMIT).await;
    assert_eq!(
        some.events_applied().into_iter().collect::<Vec<_>>(),
        ["evt_1", "evt_2"]
    );
    // Two destinations, two keys: each can deduplicate on its own.
    assert!(some.effects().is_disjoint(&all.effects()));
}

fn signature_of(delivery: &hapax_testkit::Delivery) -> Option<&[u8]> {
    delivery
        .headers
        .iter()
        .find(|(name, _)| name == "stripe-signature")
        .map(|(_, value)| value.as_slice())
}
