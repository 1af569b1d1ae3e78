//! Each handshake separately, on a source that is proven by a token.

use crate::{
    Handshake, HandshakeAnswer, IdentityRule, OptionValue, Options, Proof, Recipe, Rejection, Request,
    SecretNeed, TokenPath, TokenRule, Verification, Verifier,
};

const TOKEN: (&str, &str) = ("x-token", "secret");

fn verdict_with(
    handshake: Handshake,
    options: &Options,
    request: impl for<'a> FnOnce(Request<'a>) -> Request<'a>,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Verification, Rejection> {
    let identity: IdentityRule = toml::from_str("class = \"own-id\"\nevent_id = \"body:/id\"").unwrap();
    let recipe = Recipe {
        proof: Proof::Token(TokenRule {
            places: vec![TokenPath::Header("x-token".to_owned())],
            never_begins_with: None,
            query_option: None,
        }),
        identity,
        handshakes: vec![handshake],
        secrets: SecretNeed::Required,
        delivers_by_get: false,
    };
    let verifier = Verifier::new(&recipe, &["other", "secret"], options).unwrap();
    verifier.verify(&request(Request::new(&headers, body.as_bytes(), 0)))
}

fn verification(
    handshake: Handshake,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Verification, Rejection> {
    verdict_with(handshake, &Options::default(), |request| request, headers, body)
}

fn by_get(handshake: Handshake, options: &Options, query: &str) -> Result<Verification, Rejection> {
    verdict_with(
        handshake,
        options,
        |request| request.method("GET").query(""),
        &[],
        "",
    )
    .expect_err("without a query it is none");
    // The query must outlive the request.
    let query: &'static str = Box::leak(query.to_owned().into_boxed_str());
    verdict_with(
        handshake,
        options,
        |request| request.method("GET").query(query),
        &[],
        "",
    )
}

fn options(name: &str, value: OptionValue) -> Options {
    [(name, value)].into_iter().collect()
}

fn answer(verification: Result<Verification, Rejection>) -> HandshakeAnswer {
    match verification {
        Ok(Verification::Handshake(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

fn text(verification: Result<Verification, Rejection>) -> String {
    let answer = answer(verification);
    assert_eq!(answer.status, 200);
    let content_type = ("content-type".to_owned(), "text/plain".to_owned());
    assert!(answer.headers.contains(&content_type));
    let nosniff = ("x-content-type-options".to_owned(), "nosniff".to_owned());
    assert!(answer.headers.contains(&nosniff));
    String::from_utf8(answer.body).unwrap()
}

fn is_refused(verification: Result<Verification, Rejection>) -> bool {
    matches!(verification, Err(rejection @ Rejection::HandshakeRefused { .. }) if rejection.status() == 403)
}

#[test]
fn meta_is_answered_only_with_the_right_token() {
    let options = options("verify_token", OptionValue::Text("ours".to_owned()));
    let ask = |query: &str| by_get(Handshake::MetaChallenge, &options, query);
    assert_eq!(
        text(ask("hub.mode=subscribe&hub.verify_token=ours&hub.challenge=115")),
        "115"
    );
    for query in [
        "hub.mode=subscribe&hub.verify_token=nope&hub.challenge=115",
        "hub.mode=subscribe&hub.challenge=115",
        "hub.mode=subscribe&hub.verify_token=ours",
    ] {
        assert!(is_refused(ask(query)), "{query}");
    }
    let unset = by_get(
        Handshake::MetaChallenge,
        &Options::default(),
        "hub.mode=subscribe&hub.verify_token=&hub.challenge=115",
    );
    assert!(is_refused(unset));
}

#[test]
fn a_challenge_of_dropbox_is_echoed_as_text_and_only_if_it_is_short() {
    let ask = |query: &str| by_get(Handshake::DropboxChallenge, &Options::default(), query);
    assert_eq!(text(ask("challenge=%3Cscript%3E")), "<script>");
    assert!(is_refused(ask(&format!("challenge={}", "a".repeat(1025)))));
}

#[test]
fn a_challenge_of_braintree_is_signed_only_if_it_is_hexadecimal() {
    let options = options("public_key", OptionValue::Text("public".to_owned()));
    let ask = |query: &str| by_get(Handshake::BraintreeChallenge, &options, query);
    let answer = text(ask("bt_challenge=20f9f8ed05f77439fe955c977e4c8a53"));
    let (public, tag) = answer.split_once('|').unwrap();
    assert_eq!((public, tag.len()), ("public", 40));
    for bad in [
        "20f9f8ed05f77439fe9",
        "20F9F8ED05F77439FE955C977E4C8A53",
        "zzf9f8ed05f77439fe955c97",
    ] {
        assert!(is_refused(ask(&format!("bt_challenge={bad}"))), "{bad}");
    }
}

#[test]
fn a_ping_of_woocommerce_is_answered_and_nothing_like_it() {
    let ask = |headers: &[(&str, &str)], body: &str| verification(Handshake::WoocommercePing, headers, body);
    assert_eq!(answer(ask(&[], "webhook_id=12")), HandshakeAnswer::empty());
    for body in ["webhook_id=", "webhook_id=1&x=2", "webhook_id=1x", "{}"] {
        assert!(ask(&[], body).is_err(), "{body}");
    }
    assert!(ask(&[("X-WC-Webhook-Signature", "x")], "webhook_id=12").is_err());
}

#[test]
fn a_ping_of_discord_is_no_event_and_an_event_no_ping() {
    let ask = |body: &str| verification(Handshake::DiscordPing, &[TOKEN], body);
    assert_eq!(
        answer(ask(r#"{"type":1,"id":"1","token":"t"}"#)).body,
        br#"{"type":1}"#
    );
    let ping = answer(ask(r#"{"version":1,"application_id":"1","type":0}"#));
    assert_eq!((ping.status, ping.body.len()), (204, 0));
    for event in [
        r#"{"type":2,"id":"1"}"#,
        r#"{"type":1,"id":"1","event":{"type":"X"}}"#,
    ] {
        assert!(matches!(ask(event), Ok(Verification::Events(_))), "{event}");
    }
    assert!(verification(Handshake::DiscordPing, &[], r#"{"type":1}"#).is_err());
}

#[test]
fn a_challenge_of_twitch_is_echoed_and_a_revocation_is_an_event() {
    let ask = |kind: &str, body: &str| {
        let headers = [TOKEN, ("twitch-eventsub-message-type", kind)];
        verification(Handshake::TwitchChallenge, &headers, body)
    };
    let body = r#"{"challenge":"pogchamp","id":"1"}"#;
    assert_eq!(text(ask("webhook_callback_verification", body)), "pogchamp");
    assert!(matches!(ask("revocation", body), Ok(Verification::Events(_))));
    let unproven = [("twitch-eventsub-message-type", "webhook_callback_verification")];
    assert!(verification(Handshake::TwitchChallenge, &unproven, body).is_err());
}

#[test]
fn event_grid_is_answered_by_its_code_once_it_is_proven() {
    let body = r#"[{"eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"512d"}}]"#;
    let asked = verification(Handshake::EventGridValidation, &[TOKEN], body);
    assert_eq!(answer(asked).body, br#"{"validationResponse":"512d"}"#);
    assert!(verification(Handshake::EventGridValidation, &[], body).is_err());
    let by_options = verdict_with(
        Handshake::EventGridValidation,
        &Options::default(),
        |request| request.method("OPTIONS"),
        &[TOKEN, ("webhook-request-origin", "eventgrid.azure.net")],
        "",
    );
    let granted = (
        "webhook-allowed-origin".to_owned(),
        "eventgrid.azure.net".to_owned(),
    );
    assert!(answer(by_options).headers.contains(&granted));
}

#[test]
fn a_sender_of_cloudevents_is_granted_its_rate_if_its_origin_is_allowed() {
    let options = options("allowed_origins", OptionValue::List(vec!["a.example".to_owned()]));
    let ask = |origin: &str, rate: &str| {
        verdict_with(
            Handshake::CloudEventsOptions,
            &options,
            |request| request.method("OPTIONS"),
            &[("WebHook-Request-Origin", origin), ("WebHook-Request-Rate", rate)],
            "",
        )
    };
    let granted = answer(ask("a.example", "120"));
    let expected = [
        ("webhook-allowed-origin", "a.example"),
        ("allow", "POST"),
        ("webhook-allowed-rate", "120"),
    ];
    let found: Vec<(&str, &str)> = granted
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!((granted.status, found), (200, expected.to_vec()));
    assert!(is_refused(ask("b.example", "120")));
    assert!(is_refused(ask("a.example", "fast")));
}

#[test]
fn asana_hands_over_a_secret_and_gets_it_back() {
    let ask = |headers: &[(&str, &str)]| verification(Handshake::AsanaSecret, headers, "{}");
    let Ok(Verification::Registration(registration)) = ask(&[("X-Hook-Secret", "b537")]) else {
        panic!()
    };
    assert_eq!(registration.secret, "b537");
    assert_eq!(
        registration.answer.headers,
        [("x-hook-secret".to_owned(), "b537".to_owned())]
    );
    assert!(!format!("{registration:?}").contains("b537"));
    assert!(is_refused(ask(&[("X-Hook-Secret", "a b")])));
    // A webhook that signs already has a secret.
    let signed = ask(&[("X-Hook-Secret", "b537"), ("X-Hook-Signature", "00")]);
    assert!(matches!(signed, Err(Rejection::SignatureMissing { .. })));
}

#[test]
fn sns_is_confirmed_by_its_own_url_once_it_is_proven_and_an_unsubscription_is_an_event() {
    let ask = |kind: &str, url: &str| {
        let body = format!(r#"{{"Type":"{kind}","SubscribeURL":"{url}","id":"1"}}"#);
        verification(Handshake::SnsConfirmation, &[TOKEN], &body)
    };
    let url = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription";
    let Ok(Verification::Confirmation(confirmation)) = ask("SubscriptionConfirmation", url) else {
        panic!()
    };
    assert_eq!(confirmation.url, url);
    assert!(is_refused(ask(
        "SubscriptionConfirmation",
        "https://evil.example/"
    )));
    assert!(matches!(
        ask("UnsubscribeConfirmation", url),
        Ok(Verification::Events(_))
    ));
    assert!(verification(Handshake::SnsConfirmation, &[], "{}").is_err());
}
