//! Samples: signed as the provider signs, received by their own source, and the same event each time.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use hapax_bindings::{
    Delivery, ErrorCode, KeyMap, ProviderSettings, Received, RequestHead, SampleSettings, Source,
    SourceSettings, headers,
};
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::generate_secret;

const NOW: i64 = 1_767_225_600;
const GATEWAY_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A source with both halves of a secret.
fn source(preset: &Provider) -> Source {
    let secret = generate_secret(preset, &[7; 32]);
    let settings = ProviderSettings {
        options: preset.sample_options(),
        source: SourceSettings {
            public_url: Some("https://hooks.example.com/in".to_owned()),
            signing_secret: Some(secret.signing),
            ..SourceSettings::default()
        },
        ..ProviderSettings::default()
    };
    Source::provider(&preset.name, &[secret.verifying], settings).unwrap()
}

fn receive(source: &Source, delivery: &Delivery) -> Received {
    let (_, query) = delivery.path_query.split_once('?').unwrap_or_default();
    let head = RequestHead {
        method: delivery.method.clone(),
        query: query.to_owned(),
        headers: headers(delivery.headers.iter().map(|(name, value)| (name, value))),
        now: Some(NOW),
    };
    source.receive(&head, &delivery.body, KeyMap::new())
}

fn at_now() -> SampleSettings {
    SampleSettings {
        now: Some(NOW),
        ..SampleSettings::default()
    }
}

#[test]
fn a_sample_of_every_provider_is_received_and_is_one_event_however_often_it_comes() {
    for preset in catalogue::all() {
        let source = source(preset);
        let delivery = source.sample(&at_now()).unwrap();
        assert!(delivery.path_query.starts_with("/in"), "{}", delivery.path_query);
        for _ in 0..2 {
            let received = receive(&source, &delivery);
            let event = &received.events.unwrap()[0];
            if !event.event_id.starts_with("generated:") {
                assert_eq!(event.event_id, delivery.event_id, "{}", preset.name);
            }
        }
    }
}

#[test]
fn two_samples_are_two_events() {
    let source = source(catalogue::get("stripe").unwrap());
    let (one, two) = (
        source.sample(&at_now()).unwrap(),
        source.sample(&at_now()).unwrap(),
    );
    assert_ne!(one.event_id, two.event_id);
    let named = SampleSettings {
        event_id: Some("evt_1".to_owned()),
        ..at_now()
    };
    for _ in 0..2 {
        assert_eq!(source.sample(&named).unwrap().event_id, "evt_1");
    }
}

#[test]
fn a_type_is_set_where_the_provider_has_it() {
    for (provider, event_type) in [
        ("stripe", "invoice.paid"),
        ("github", "pull_request.closed"),
        ("github", "push"),
        ("shopify", "orders/updated"),
        ("hubspot", "contact.deletion"),
        ("gocardless", "payments.confirmed"),
        ("pagerduty", "incident.resolved"),
        ("sendgrid", "bounce"),
    ] {
        let source = source(catalogue::get(provider).unwrap());
        let delivery = source
            .sample(&SampleSettings {
                event_type: Some(event_type.to_owned()),
                ..at_now()
            })
            .unwrap();
        for _ in 0..2 {
            let event = &receive(&source, &delivery).events.unwrap()[0];
            assert_eq!(event.event_type.as_deref(), Some(event_type), "{provider}");
        }
    }
    let dropbox = source(catalogue::get("dropbox").unwrap());
    let refused = dropbox.sample(&SampleSettings {
        event_type: Some("other".to_owned()),
        ..at_now()
    });
    assert!(refused.unwrap_err().message.contains("pass a body"));
}

#[test]
fn a_body_of_the_callers_is_signed_as_it_is() {
    let source = source(catalogue::get("stripe").unwrap());
    let body = br#"{ "id":"evt_9", "type":"x" }"#.to_vec();
    let settings = SampleSettings {
        body: Some(body.clone()),
        ..at_now()
    };
    let delivery = source.sample(&settings).unwrap();
    assert_eq!((delivery.body, delivery.event_id.as_str()), (body, "evt_9"));
    let contradicted = source.sample(&SampleSettings {
        event_id: Some("evt_1".to_owned()),
        ..settings
    });
    assert!(contradicted.unwrap_err().message.contains("evt_9"));
}

#[test]
fn a_public_key_cannot_sign_and_the_error_says_what_can() {
    let preset = catalogue::get("discord").unwrap();
    let secret = generate_secret(preset, &[7; 32]);
    let public = Source::provider("discord", &[secret.verifying], ProviderSettings::default()).unwrap();
    let error = public.sample(&at_now()).unwrap_err();
    assert_eq!(error.code, ErrorCode::SetupError);
    assert!(error.message.contains("signing_secret"), "{error}");
}

#[test]
fn behind_the_gateway_a_sample_has_its_headers() {
    let source = Source::hapax(&[GATEWAY_SECRET.to_owned()], "hapax", None).unwrap();
    let delivery = source
        .sample(&SampleSettings {
            event_type: Some("invoice.paid".to_owned()),
            ..at_now()
        })
        .unwrap();
    for _ in 0..2 {
        let event = &receive(&source, &delivery).events.unwrap()[0];
        let via = event.via_hapax.as_ref().unwrap();
        assert_eq!(event.event_id, via.idempotency_key);
        assert_eq!(event.event_type.as_deref(), Some("invoice.paid"));
        assert_eq!(via.received_at.as_deref(), Some("2026-01-01T00:00:00.000000Z"));
    }
}
