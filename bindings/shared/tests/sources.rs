//! Sources: what is wrong with one is said when it is made, and never shows a secret.

use hapax_bindings::{
    Error, ErrorCode, KeyMap, ProviderSettings, RequestHead, SampleSettings, Source, SourceSettings,
    body_limit, headers,
};
use hapax_verify::OptionValue;

const SECRET: &str = "whsec_very_secret";

fn provider(name: &str, secrets: &[&str]) -> Result<Source, Error> {
    let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
    Source::provider(name, &secrets, ProviderSettings::default())
}

#[test]
fn what_is_wrong_with_a_source_is_said_when_it_is_made() {
    for (made, text) in [
        (provider("strype", &[SECRET]), "strype"),
        (provider("stripe", &[]), "no secret"),
        (provider("stripe", &[""]), "secret 1"),
        (provider("standard-webhooks", &["whsec_***"]), "base64"),
        (
            Source::hapax(&["no base64 !".to_owned()], "hapax", None),
            "base64",
        ),
    ] {
        let error = made.unwrap_err();
        assert_eq!(error.code, ErrorCode::SetupError);
        assert!(error.message.contains(text), "{error}");
        assert!(!error.message.contains(SECRET), "{error}");
    }
    let source = provider("stripe", &[SECRET]).unwrap();
    assert!(!format!("{source:?}").contains("secret"));
}

#[test]
fn an_option_that_the_provider_does_not_have_is_refused() {
    let settings = ProviderSettings {
        options: [("webhook_idd", OptionValue::Text("1".to_owned()))]
            .into_iter()
            .collect(),
        ..ProviderSettings::default()
    };
    let error = Source::provider("paypal", &[], settings).unwrap_err();
    assert!(
        error.message.contains("webhook_idd") && error.message.contains("webhook_id,"),
        "{error}"
    );
}

#[test]
fn a_scheme_of_ones_own_is_json_as_in_the_configuration() {
    let scheme = r#"{
        "verify": {"scheme": "hmac-sha256", "header": "x-signature", "signed": "{timestamp}.{body}",
                   "timestamp_header": "x-timestamp", "tolerance": "5m"},
        "event_id": ["body:/shop", "body:/id"],
        "event_type": "body:/kind"
    }"#;
    let secrets = [SECRET.to_owned()];
    let source = Source::custom("shop", scheme, &secrets, SourceSettings::default()).unwrap();
    let delivery = source.sample(&SampleSettings::default()).unwrap();
    let head = RequestHead {
        method: "POST".to_owned(),
        query: String::new(),
        headers: headers(delivery.headers),
        now: None,
    };
    for _ in 0..2 {
        let received = source.receive(&head, &delivery.body, KeyMap::new());
        assert_eq!(received.events.unwrap()[0].event_id, delivery.event_id);
    }
    for (scheme, text) in [
        ("{}", "verify"),
        ("no json", "scheme is not usable"),
        (
            r#"{"verify": {"scheme": "hmac-sha256", "header": "x", "tolerence": "5m"}, "event_id": "body:/id"}"#,
            "tolerence",
        ),
        (
            r#"{"verify": {"scheme": "hmac-sha256", "header": "x", "signed": "{timestamp}"}, "event_id": "body:/id"}"#,
            "{body}",
        ),
    ] {
        let error = Source::custom("shop", scheme, &secrets, SourceSettings::default()).unwrap_err();
        assert_eq!(error.code, ErrorCode::SetupError);
        assert!(error.message.contains(text), "{error}");
    }
}

#[test]
fn an_option_without_which_nothing_can_be_verified_is_named() {
    let error = provider("aws-sns", &[]).unwrap_err();
    assert!(error.message.contains("topic_arns"), "{error}");
}

#[test]
fn only_an_outcome_can_be_answered() {
    let source = provider("stripe", &[SECRET]).unwrap();
    let outcome = |word: &str| vec![(word.to_owned(), "evt_1".to_owned())];
    assert_eq!(source.answer(outcome("processed")).unwrap().status, 200);
    assert_eq!(source.answer(outcome("in_flight")).unwrap().status, 503);
    assert_eq!(
        source.answer(outcome("done")).unwrap_err().code,
        ErrorCode::Invalid
    );
    assert_eq!(source.answer_failed().status, 500);
    assert_eq!(source.answer_unavailable().status, 503);
}

#[test]
fn a_body_limit_is_a_whole_number_above_zero() {
    assert_eq!(body_limit(1024.0), Ok(1024));
    for wrong in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY, 1e300] {
        assert_eq!(body_limit(wrong).unwrap_err().code, ErrorCode::Invalid, "{wrong}");
    }
}
