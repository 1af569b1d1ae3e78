//! Cases that the vectors do not cover: rotation, limits, odd bodies, odd ids, and messages that explain what to do.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use hapax_verify::catalogue;
use hapax_verify::sign::Signer;
use hapax_verify::{
    CustomScheme, Envelope, IdentityRule, Options, Recipe, Rejection, Request, Scheme, SetupError,
    SignatureProblem, StepOutcome, Verification, Verifier,
};

const NOW: i64 = 1_767_225_600;
// The key pair of the first test vector of RFC 8032.
const PRIVATE: &str =
    "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg==";
const PUBLIC: &str = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const SHARED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

type HeaderList = Vec<(String, String)>;

fn preset(name: &str, secrets: &[&str]) -> Verifier {
    let provider = catalogue::get(name).unwrap();
    Verifier::new(&provider.recipe(), secrets, &Options::default()).unwrap()
}

fn signed(name: &str, secret: &str, id: &str, body: &[u8]) -> HeaderList {
    let provider = catalogue::get(name).unwrap();
    Signer::new(provider.proof.scheme().unwrap(), secret)
        .unwrap()
        .sign(id, NOW, "POST", "", body)
}

fn custom(verify: &str, identity: &str) -> (Scheme, IdentityRule) {
    let scheme: CustomScheme = toml::from_str(verify).unwrap();
    let identity = toml::from_str(&format!("class = \"own-id\"\n{identity}")).unwrap();
    (scheme.try_into().unwrap(), identity)
}

fn verify(verifier: &Verifier, headers: &HeaderList, body: &[u8]) -> Result<Envelope, Rejection> {
    verify_at(verifier, headers, body, NOW)
}

fn verify_at(
    verifier: &Verifier,
    headers: &HeaderList,
    body: &[u8],
    received_at: i64,
) -> Result<Envelope, Rejection> {
    let request = Request::new(headers, body, received_at).url("https://hooks.example.com/in");
    match verifier.verify(&request)? {
        Verification::Events(mut events) => Ok(events.remove(0)),
        other => panic!("{other:?}"),
    }
}

fn problem(result: Result<Envelope, Rejection>) -> SignatureProblem {
    match result.unwrap_err() {
        Rejection::SignatureInvalid { problem, .. } => problem,
        other => panic!("{other:?}"),
    }
}

/// A source with one secret that signs only the body and has its id in a header.
fn body_signed(identity: &str) -> (Verifier, Signer) {
    let (scheme, identity) = custom("scheme = \"hmac-sha256\"\nheader = \"x-signature\"", identity);
    let signer = Signer::new(&scheme, "secret").unwrap();
    (
        Verifier::new(
            &Recipe::custom(scheme, identity),
            &["secret"],
            &Options::default(),
        )
        .unwrap(),
        signer,
    )
}

fn id_of(identity: &str, more: &[(&str, &str)], body: &[u8]) -> Result<String, Rejection> {
    let (verifier, signer) = body_signed(identity);
    let mut headers = signer.sign("", NOW, "POST", "", body);
    headers.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    verify(&verifier, &headers, body).map(|envelope| envelope.event_id)
}

#[test]
fn any_of_several_secrets_matches_and_its_place_is_named() {
    let verifier = preset("stripe", &["whsec_a", "whsec_b", "whsec_c"]);
    let body = br#"{"id":"evt_1"}"#;
    for (index, secret) in ["whsec_a", "whsec_b", "whsec_c"].into_iter().enumerate() {
        let envelope = verify(&verifier, &signed("stripe", secret, "", body), body).unwrap();
        assert_eq!(envelope.secret_index, Some(index));
        assert_eq!(envelope.signed_at, Some(NOW));
    }
    let stranger = signed("stripe", "whsec_d", "", body);
    assert_eq!(
        problem(verify(&verifier, &stranger, body)),
        SignatureProblem::Mismatch
    );
}

#[test]
fn every_digit_of_a_signature_counts() {
    let verifier = preset("stripe", &["whsec_a"]);
    let body = br#"{"id":"evt_1"}"#;
    let genuine = signed("stripe", "whsec_a", "", body).remove(0).1;
    let first = genuine.len() - 64;
    for at in first..genuine.len() {
        for digit in "0123456789abcdef"
            .chars()
            .filter(|digit| !genuine[at..].starts_with(*digit))
        {
            let mut forged = genuine.clone();
            forged.replace_range(at..=at, &digit.to_string());
            let headers = vec![("stripe-signature".to_owned(), forged)];
            assert_eq!(
                problem(verify(&verifier, &headers, body)),
                SignatureProblem::Mismatch
            );
        }
    }
}

#[test]
fn verifiers_and_signers_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Verifier>();
    shared::<Signer>();
}

#[test]
fn symmetric_and_asymmetric_secrets_mix_in_one_source() {
    let verifier = preset("standard-webhooks", &[SHARED, PUBLIC]);
    let body = br#"{"type":"a.b"}"#;
    for (secret, index) in [(SHARED, 0), (PRIVATE, 1)] {
        let envelope = verify(
            &verifier,
            &signed("standard-webhooks", secret, "msg_1", body),
            body,
        )
        .unwrap();
        assert_eq!(
            (envelope.event_id.as_str(), envelope.secret_index),
            ("msg_1", Some(index))
        );
        assert!(envelope.id_is_signed);
    }
    // A source with only a shared secret cannot check a v1a signature.
    let only_shared = preset("standard-webhooks", &[SHARED]);
    let headers = signed("standard-webhooks", PRIVATE, "msg_1", body);
    assert_eq!(
        problem(verify(&only_shared, &headers, body)),
        SignatureProblem::NoKnownVersion
    );
}

#[test]
fn the_other_names_of_the_standard_headers_are_understood() {
    let body = b"{}";
    let headers: HeaderList = signed("standard-webhooks", SHARED, "msg_1", body)
        .into_iter()
        .map(|(name, value)| (name.replace("webhook-", "svix-"), value))
        .collect();
    let verifier = preset("standard-webhooks", &[SHARED]);
    assert_eq!(verify(&verifier, &headers, body).unwrap().event_id, "msg_1");
}

#[test]
fn the_id_is_the_one_that_was_signed_even_if_both_names_are_sent() {
    let body = b"{}";
    let mut headers = signed("standard-webhooks", SHARED, "msg_1", body);
    headers.insert(0, ("svix-id".to_owned(), "msg_2".to_owned()));
    let verifier = preset("standard-webhooks", &[SHARED]);
    assert_eq!(verify(&verifier, &headers, body).unwrap().event_id, "msg_1");
}

#[test]
fn an_id_with_the_separator_is_refused_because_the_signature_would_fit_another_request() {
    let verifier = preset("standard-webhooks", &[SHARED]);
    let genuine = format!("{NOW}.{{}}");
    let mut headers = signed("standard-webhooks", SHARED, "msg_1", genuine.as_bytes());
    // The same signed bytes, split at another point.
    for (name, value) in &mut headers {
        if name == "webhook-id" {
            *value = format!("msg_1.{NOW}");
        }
    }
    assert_eq!(
        problem(verify(&verifier, &headers, b"{}")),
        SignatureProblem::Ambiguous
    );
}

#[test]
fn a_timestamp_far_ahead_is_refused_like_an_old_one() {
    let verifier = preset("stripe", &["whsec_a"]);
    let body = br#"{"id":"evt_1"}"#;
    let headers = signed("stripe", "whsec_a", "", body);
    for (received_at, word) in [(NOW + 301, "behind"), (NOW - 301, "ahead of")] {
        let rejection = verify_at(&verifier, &headers, body, received_at).unwrap_err();
        assert_eq!(rejection.code(), "timestamp_out_of_range");
        assert!(rejection.to_string().contains(word), "{rejection}");
    }
    // A delivery that is both stale and forged is reported as forged.
    let rejection = verify_at(&verifier, &headers, b"{}", NOW + 301).unwrap_err();
    assert_eq!(rejection.code(), "signature_invalid");
}

#[test]
fn a_header_with_ten_thousand_signatures_is_refused_unread() {
    let verifier = preset("stripe", &["whsec_a"]);
    let body = br#"{"id":"evt_1"}"#;
    let genuine = signed("stripe", "whsec_a", "", body).remove(0).1;
    let forged = "0".repeat(64);
    let flood = |count: usize| {
        vec![(
            "stripe-signature".to_owned(),
            format!("{},{genuine}", vec![format!("v1={forged}"); count].join(",")),
        )]
    };
    assert_eq!(
        problem(verify(&verifier, &flood(10_000), body)),
        SignatureProblem::HeaderTooLong
    );
    assert_eq!(
        problem(verify(&verifier, &flood(16), body)),
        SignatureProblem::TooMany
    );
    assert!(verify(&verifier, &flood(15), body).is_ok());
}

#[test]
fn a_body_that_is_not_utf8_verifies_and_is_refused_only_if_the_id_is_inside() {
    let body = [0xff, 0x00, 0xfe, b'{'];
    let mut headers = signed("github", "secret", "", &body);
    headers.push(("X-GitHub-Delivery".to_owned(), "d1".to_owned()));
    headers.push(("X-GitHub-Event".to_owned(), "push".to_owned()));
    let envelope = verify(&preset("github", &["secret"]), &headers, &body).unwrap();
    assert_eq!(
        (envelope.event_id.as_str(), envelope.event_type.as_deref()),
        ("d1", Some("push"))
    );
    assert!(!envelope.id_is_signed);

    let headers = signed("stripe", "secret", "", &body);
    let rejection = verify(&preset("stripe", &["secret"]), &headers, &body).unwrap_err();
    assert_eq!((rejection.code(), rejection.status()), ("malformed_body", 400));
}

#[test]
fn ids_are_refused_where_they_are_no_text_and_missing_where_they_are_no_scalar() {
    let rule = "event_id = \"body:/id\"";
    let code = |body: &str| id_of(rule, &[], body.as_bytes()).unwrap_err().code();
    assert_eq!(code(r#"{"id":""}"#), "event_id_missing");
    assert_eq!(code(r#"{"id":"a\u0000b"}"#), "event_id_missing");
    for value in ["null", "true", "{}", "[]"] {
        assert_eq!(
            code(&format!("{{\"id\":{value}}}")),
            "event_id_missing",
            "{value}"
        );
    }
    assert_eq!(code("{}"), "event_id_missing");
    assert_eq!(code("not json"), "malformed_body");
    assert_eq!(code(r#"{"id":"\ud800"}"#), "malformed_body");
    assert_eq!(
        id_of(rule, &[], br#"{"id":900719925474099312345}"#).unwrap(),
        "900719925474099312345"
    );
}

#[test]
fn a_header_id_that_is_not_utf8_is_refused() {
    let (verifier, signer) = body_signed("event_id = \"header:x-id\"");
    let mut headers: Vec<(String, Vec<u8>)> = signer
        .sign("", NOW, "POST", "", b"{}")
        .into_iter()
        .map(|(name, value)| (name, value.into_bytes()))
        .collect();
    headers.push(("x-id".to_owned(), vec![0xff]));
    let request = Request::new(&headers, b"{}", NOW);
    let rejection = verifier.verify(&request).unwrap_err();
    assert_eq!(rejection.status(), 400);
    assert!(rejection.to_string().contains("UTF-8"), "{rejection}");
}

#[test]
fn composites_have_a_mark_for_what_is_missing_and_need_one_part() {
    let rule = "event_id = [\"body:/a\", \"header:x-b\", \"body:/c\"]";
    let id = |body: &str, headers: &[(&str, &str)]| id_of(rule, headers, body.as_bytes());
    assert_eq!(id(r#"{"a":"x:y","c":7}"#, &[("x-b", "z")]).unwrap(), "x%3Ay:z:7");
    assert_eq!(id(r#"{"a":"x"}"#, &[]).unwrap(), "x:%-:%-");
    assert_eq!(id(r#"{"a":"x","c":""}"#, &[]).unwrap(), "x:%-:");
    assert_eq!(id("{}", &[]).unwrap_err().code(), "event_id_missing");
    assert_eq!(id(r#"{"a":""}"#, &[]).unwrap_err().code(), "event_id_missing");
}

#[test]
fn a_body_hash_is_an_id_only_by_name_and_a_long_id_becomes_a_hash() {
    let hashed = id_of("event_id = \"body-sha256\"", &[], b"").unwrap();
    assert_eq!(
        hashed,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    let long = "x".repeat(300);
    let id = id_of("event_id = \"header:x-id\"", &[("x-id", &long)], b"{}").unwrap();
    assert!(id.starts_with("sha256:") && id.len() == 71, "{id}");
}

#[test]
fn a_type_never_refuses_an_event() {
    let (verifier, signer) = body_signed("event_id = \"header:x-id\"\nevent_type = \"body:/type\"");
    for body in [
        r#"{"type":"a\nb"}"#.to_owned(),
        "not json".to_owned(),
        format!("{{\"type\":\"{}\"}}", "t".repeat(256)),
    ] {
        let mut headers = signer.sign("", NOW, "POST", "", body.as_bytes());
        headers.push(("x-id".to_owned(), "1".to_owned()));
        assert_eq!(
            verify(&verifier, &headers, body.as_bytes()).unwrap().event_type,
            None,
            "{body}"
        );
    }
}

#[test]
fn method_url_headers_and_timestamps_can_be_signed() {
    let (scheme, identity) = custom(
        r#"
        scheme = "hmac-sha512"
        header = "x-signature"
        encoding = "base64"
        prefix = "v3="
        signed = "{method}{url}|{header:x-tenant}|{body}{timestamp}"
        timestamp_header = "x-time"
        timestamp_unit = "milliseconds"
        tolerance = "1h"
        "#,
        "event_id = \"body:/id\"",
    );
    let body = br#"{"id":1}"#;
    let url = "https://hooks.example.com/in";
    let headers = Signer::new(&scheme, "secret")
        .unwrap()
        .sign("", NOW, "POST", url, body);
    let verifier = Verifier::new(
        &Recipe::custom(scheme, identity),
        &["secret"],
        &Options::default(),
    )
    .unwrap();
    assert_eq!(
        verify_at(&verifier, &headers, body, NOW + 3600)
            .unwrap()
            .signed_at,
        Some(NOW)
    );

    let request = Request::new(&headers, body, NOW);
    let rejection = verifier.verify(&request).unwrap_err();
    assert!(rejection.to_string().contains("public_url"), "{rejection}");
    let request = Request::new(&headers, body, NOW).method("PUT").url(url);
    assert_eq!(verifier.verify(&request).unwrap_err().code(), "signature_invalid");
}

#[test]
fn a_custom_ed25519_scheme_takes_a_hexadecimal_public_key() {
    let (scheme, identity) = custom(
        "scheme = \"ed25519\"\nheader = \"x-signature\"",
        "event_id = \"body:/id\"",
    );
    // The first test vector of RFC 8032.
    let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let body = br#"{"id":"e"}"#;
    let headers = Signer::new(&scheme, seed)
        .unwrap()
        .sign("", NOW, "POST", "", body);
    let verifier = Verifier::new(
        &Recipe::custom(scheme.clone(), identity.clone()),
        &[public],
        &Options::default(),
    )
    .unwrap();
    assert!(verify(&verifier, &headers, body).is_ok());
    assert!(verify(&verifier, &headers, br#"{"id":"f"}"#).is_err());
    let error = Verifier::new(&Recipe::custom(scheme, identity), &["abcd"], &Options::default()).unwrap_err();
    assert!(error.to_string().contains("32"), "{error}");
}

#[test]
fn secrets_that_cannot_be_used_are_named_by_place_and_never_printed() {
    let provider = catalogue::get("standard-webhooks").unwrap();
    let error =
        |secrets: &[&str]| Verifier::new(&provider.recipe(), secrets, &Options::default()).unwrap_err();
    let message = error(&[SHARED, "whsec_not*base64"]).to_string();
    assert!(
        message.starts_with("secret 2: not base64 after whsec_"),
        "{message}"
    );
    assert!(!message.contains("not*base64"));
    assert!(error(&[""]).to_string().contains("empty"));
    assert!(error(&["whsec_"]).to_string().contains("empty"));
    assert!(error(&[PRIVATE]).to_string().contains("whpk_"));
    assert_eq!(error(&[]), SetupError::NoSecrets);
    assert_eq!(error(&[SHARED; 17]), SetupError::TooManySecrets { count: 17 });
    let signing = Signer::new(provider.proof.scheme().unwrap(), PUBLIC)
        .unwrap_err()
        .to_string();
    assert!(signing.contains("public key"), "{signing}");
    let debug = format!("{:?}", preset("standard-webhooks", &[SHARED]));
    assert!(!debug.contains("MfKQ"));
}

#[test]
fn an_explanation_ends_with_the_step_that_fails() {
    let verifier = preset("github", &["secret"]);
    let mut headers = signed("github", "secret", "", b"{}");
    let request = Request::new(&headers, b"{}", NOW);
    let steps = verifier.explain(&request);
    let last = steps.last().unwrap();
    assert_eq!((last.name, last.outcome), ("event id", StepOutcome::Failed));
    assert!(last.detail.contains("x-github-delivery"), "{}", last.detail);

    headers.push(("x-github-delivery".to_owned(), "d1".to_owned()));
    let request = Request::new(&headers, b"{}", NOW);
    let steps = verifier.explain(&request);
    assert!(steps.iter().all(|step| step.outcome != StepOutcome::Failed));
    assert!(
        steps
            .iter()
            .any(|step| step.name == "event id" && step.detail == "d1")
    );
}
