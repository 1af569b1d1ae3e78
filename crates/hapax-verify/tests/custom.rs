//! A source's own proof (`verify` without a preset): signatures made with other tools are accepted, and forgeries are
//! not.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hapax_verify::sign::{Delivery, ProviderSigner};
use hapax_verify::{
    CustomScheme, Envelope, IdentityRule, Options, Proof, Recipe, Rejection, Request, SetupError,
    SignatureProblem, Verification, Verifier,
};
use serde_json::json;

const NOW: i64 = 1_767_225_600;
const BODY: &str = r#"{"id":"evt_1","type":"order.paid"}"#;
const HS256: &str = "scheme = \"jwt\"\nalgorithm = \"HS256\"";
const ES256: &str = "scheme = \"jwt\"\nalgorithm = \"ES256\"\nbody_hash_claim = \"body_sha256\"";
const RS256: &str =
    "scheme = \"jwt\"\nalgorithm = \"RS256\"\naudience = \"hapax\"\nissuer = \"https://sender.example\"";
const ECDSA: &str = "scheme = \"ecdsa-p256\"\nheader = \"x-signature\"\nencoding = \"base64\"\nsigned = \"{timestamp}.{body}\"\n\
                     timestamp_header = \"x-timestamp\"";

/// Keys, tokens and a signature made with other tools.
static ELSEWHERE: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| serde_json::from_str(include_str!("custom/made-elsewhere.json")).unwrap());

fn elsewhere(name: &str) -> &'static str {
    &ELSEWHERE[name]
}

type HeaderList = Vec<(String, String)>;

fn headers(list: &[(&str, &str)]) -> HeaderList {
    list.iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn bearer(token: &str) -> HeaderList {
    headers(&[("authorization", &format!("Bearer {token}"))])
}

fn proof(verify: &str) -> Proof {
    toml::from_str::<CustomScheme>(verify)
        .unwrap()
        .try_into()
        .unwrap()
}

fn compile(verify: &str, secrets: &[&str]) -> Result<Verifier, SetupError> {
    let identity: IdentityRule =
        toml::from_str("class = \"own-id\"\nevent_id = \"body:/id\"\nevent_type = \"body:/type\"").unwrap();
    Verifier::new(
        &Recipe::custom(proof(verify), identity),
        secrets,
        &Options::default(),
    )
}

fn verifier(verify: &str, secrets: &[&str]) -> Verifier {
    compile(verify, secrets).unwrap()
}

fn judge(verifier: &Verifier, headers: &HeaderList, body: &str, now: i64) -> Result<Envelope, Rejection> {
    let request = Request::new(headers, body.as_bytes(), now);
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

/// A token that our signer never makes, signed with a shared key.
fn token(header: &serde_json::Value, claims: &serde_json::Value) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let unsigned = format!("{}.{}", encode(header), encode(claims));
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, b"key");
    let signature = aws_lc_rs::hmac::sign(&key, unsigned.as_bytes());
    format!("{unsigned}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn hs256(claims: &serde_json::Value) -> String {
    token(&json!({"alg": "HS256"}), claims)
}

#[test]
fn what_other_tools_have_signed_is_taken() {
    for (verify, secret, headers) in [
        (HS256, "shared-key", bearer(elsewhere("hs256_token"))),
        (ES256, elsewhere("p256_pem"), bearer(elsewhere("es256_token"))),
        (ES256, elsewhere("p256_base64"), bearer(elsewhere("es256_token"))),
        (RS256, elsewhere("rsa_pem"), bearer(elsewhere("rs256_token"))),
        (
            ECDSA,
            elsewhere("p256_pem"),
            headers(&[
                ("x-signature", elsewhere("ecdsa_signature")),
                ("x-timestamp", "1767225600"),
            ]),
        ),
        (
            ECDSA,
            elsewhere("p256_base64"),
            headers(&[
                ("x-signature", elsewhere("ecdsa_signature")),
                ("x-timestamp", "1767225600"),
            ]),
        ),
    ] {
        let event = judge(&verifier(verify, &[secret]), &headers, BODY, NOW).unwrap();
        assert_eq!(
            (event.event_id.as_str(), event.signed_at),
            ("evt_1", Some(NOW)),
            "{verify}"
        );
        assert_eq!(event.secret_index, Some(0));
        assert_eq!(event.id_is_signed, verify == ES256 || verify == ECDSA, "{verify}");
    }
}

#[test]
fn a_token_never_chooses_how_it_is_checked() {
    let es256 = verifier(ES256, &[elsewhere("p256_pem")]);
    for name in [
        "hs256_token",
        "rs256_token",
        "unsigned_token",
        // Signed with the text of the public key, which anyone may know.
        "hs256_token_by_the_public_key",
    ] {
        let refused = judge(&es256, &bearer(elsewhere(name)), BODY, NOW);
        assert_eq!(
            problem(refused),
            SignatureProblem::Refused("only ES256 is"),
            "{name}"
        );
    }
    let hs256_only = verifier(HS256, &["key"]);
    let claims = json!({"iat": NOW});
    for header in [
        json!({"alg": "none"}),
        json!({"alg": "hs256"}),
        json!({"alg": "HS512"}),
        json!({"alg": ["HS256"]}),
        json!({}),
        json!({"alg": "HS256", "crit": ["exp"], "exp": 1}),
    ] {
        let refused = judge(&hs256_only, &bearer(&token(&header, &claims)), BODY, NOW);
        assert!(
            matches!(
                problem(refused),
                SignatureProblem::Refused(_) | SignatureProblem::Unreadable
            ),
            "{header}"
        );
    }
    assert!(judge(&hs256_only, &bearer(&hs256(&claims)), BODY, NOW).is_ok());
}

#[test]
fn a_token_counts_from_when_it_begins_until_it_ends() {
    let verifier = verifier(HS256, &["key"]);
    let accepted =
        |claims: serde_json::Value, now: i64| judge(&verifier, &bearer(&hs256(&claims)), BODY, now).is_ok();
    // A clock skew of 5 minutes is allowed.
    assert!(accepted(json!({"exp": NOW}), NOW + 300) && !accepted(json!({"exp": NOW}), NOW + 301));
    assert!(accepted(json!({"exp": NOW + 9_999, "nbf": NOW}), NOW - 300));
    assert!(!accepted(json!({"exp": NOW + 9_999, "nbf": NOW}), NOW - 301));
    assert!(
        !accepted(json!({"exp": NOW + 9_999, "iat": NOW}), NOW - 301),
        "made in the future"
    );
    // Without an expiry, a token is valid for as long as the allowed clock skew.
    assert!(accepted(json!({"iat": NOW}), NOW + 300) && !accepted(json!({"iat": NOW}), NOW + 301));
    assert!(accepted(json!({"iat": 1_767_225_600.5}), NOW));
    for endless in [
        json!({}),
        json!({"nbf": 1}),
        json!({"iat": "now"}),
        json!({"exp": null}),
        json!([]),
    ] {
        assert!(!accepted(endless.clone(), NOW), "{endless}");
    }
    assert!(!accepted(json!({"exp": i64::MIN}), i64::MAX) && !accepted(json!({"iat": i64::MAX}), i64::MIN));
}

#[test]
fn a_token_of_another_issuer_or_for_another_audience_is_refused() {
    let verify = "scheme = \"jwt\"\nalgorithm = \"HS256\"\nissuer = \"me\"\naudience = \"you\"";
    let verifier = verifier(verify, &["key"]);
    let judge = |claims| judge(&verifier, &bearer(&hs256(&claims)), BODY, NOW);
    assert!(judge(json!({"iat": NOW, "iss": "me", "aud": "you"})).is_ok());
    assert!(judge(json!({"iat": NOW, "iss": "me", "aud": ["them", "you"]})).is_ok());
    for (claims, named) in [
        (json!({"iat": NOW, "aud": "you"}), "`iss` is not `me`"),
        (json!({"iat": NOW, "iss": "me"}), "`aud` is not `you`"),
        (
            json!({"iat": NOW, "iss": "me", "aud": ["them"]}),
            "`aud` is not `you`",
        ),
        (json!({"iat": NOW, "iss": "me", "aud": 7}), "`aud` is not `you`"),
    ] {
        let refused = judge(claims).unwrap_err();
        assert_eq!(refused.status(), 401);
        assert!(refused.to_string().contains(named), "{refused}");
    }
}

#[test]
fn a_token_covers_the_body_only_where_it_names_its_hash() {
    let changed = BODY.replace("evt_1", "evt_2");
    let es256 = verifier(ES256, &[elsewhere("p256_pem")]);
    assert!(es256.body_is_signed());
    let refused = judge(&es256, &bearer(elsewhere("es256_token")), &changed, NOW);
    assert_eq!(problem(refused), SignatureProblem::BodyMismatch);
    let with_claim = verifier(&format!("{HS256}\nbody_hash_claim = \"hash\""), &["key"]);
    let refused = judge(&with_claim, &bearer(&hs256(&json!({"iat": NOW}))), BODY, NOW);
    assert_eq!(
        problem(refused),
        SignatureProblem::BodyMismatch,
        "without the claim nothing is covered"
    );

    let without = verifier(HS256, &["shared-key"]);
    assert!(!without.body_is_signed());
    let event = judge(&without, &bearer(elsewhere("hs256_token")), &changed, NOW).unwrap();
    assert_eq!((event.event_id.as_str(), event.id_is_signed), ("evt_2", false));
    let steps = without.explain(&Request::new(
        &bearer(elsewhere("hs256_token")),
        changed.as_bytes(),
        NOW,
    ));
    assert!(
        steps.iter().any(|step| step.detail.starts_with("not signed")),
        "{steps:?}"
    );
}

#[test]
fn the_id_of_a_token_can_be_the_id_of_its_event() {
    let identity: IdentityRule = toml::from_str("class = \"own-id\"\nevent_id = \"proof:jti\"").unwrap();
    let recipe = Recipe::custom(proof(HS256), identity);
    let verifier = Verifier::new(&recipe, &["key"], &Options::default()).unwrap();
    let event = judge(
        &verifier,
        &bearer(&hs256(&json!({"iat": NOW, "jti": "j1"}))),
        "",
        NOW,
    )
    .unwrap();
    assert_eq!((event.event_id.as_str(), event.id_is_signed), ("j1", true));
    let none = judge(&verifier, &bearer(&hs256(&json!({"iat": NOW}))), "", NOW);
    assert_eq!(none.unwrap_err().code(), "event_id_missing");
}

#[test]
fn a_token_or_password_is_compared_whole_with_every_secret() {
    let basic = |text: &str| {
        use base64::Engine as _;
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(text))
    };
    let cases = [
        (
            "scheme = \"token\"\nheader = \"X-Token\"",
            "x-token",
            "old:1".to_owned(),
            "new:2".to_owned(),
        ),
        (
            "scheme = \"token\"\nheader = \"authorization\"\nprefix = \"Token token=\"",
            "authorization",
            "token token=old:1".to_owned(),
            "Token token=new:2".to_owned(),
        ),
        (
            "scheme = \"basic\"",
            "authorization",
            basic("old:1"),
            basic("new:2"),
        ),
    ];
    for (verify, header, old, new) in &cases {
        let verifier = verifier(verify, &["old:1", "new:2"]);
        let judge = |value: &str| judge(&verifier, &headers(&[(header, value)]), BODY, NOW);
        assert_eq!(judge(old).unwrap().secret_index, Some(0), "{verify}");
        assert_eq!(judge(new).unwrap().secret_index, Some(1), "{verify}");
        for wrong in [&new[..new.len() - 1], &format!("{new}x"), "", "Basic ", "Basic !"] {
            assert_eq!(judge(wrong).unwrap_err().status(), 401, "{verify}: {wrong}");
        }
        assert_eq!(judge_without(&verifier).code(), "signature_missing", "{verify}");
    }
}

fn judge_without(verifier: &Verifier) -> Rejection {
    judge(verifier, &Vec::new(), BODY, NOW).unwrap_err()
}

#[test]
fn a_token_in_the_query_is_found_there_and_nowhere_else() {
    let verifier = verifier("scheme = \"token\"\nquery = \"key\"", &["a b&c"]);
    let judge = |query: &str| {
        let request = Request::new(&[("key", "a b&c")], BODY.as_bytes(), NOW).query(query);
        verifier.verify(&request).is_ok()
    };
    assert!(judge("x=1&key=a+b%26c") && judge("key=a%20b%26c"));
    assert!(!judge("") && !judge("key=") && !judge("key=wrong&key=a+b%26c"));
}

#[test]
fn secrets_that_cannot_be_right_are_refused_by_their_place() {
    for (verify, secret, problem) in [
        ("scheme = \"basic\"", "no colon", "it is not `user:password`"),
        ("scheme = \"token\"\nheader = \"x\"", "", "it is empty"),
        (
            ES256,
            "bm8ga2V5",
            "it is not a public key on P-256 in PEM or base64",
        ),
        (
            ES256,
            elsewhere("rsa_pem"),
            "it is not a public key on P-256 in PEM or base64",
        ),
        (
            RS256,
            elsewhere("p256_pem"),
            "it is not an RSA public key of at least 2048 bits",
        ),
        (
            ECDSA,
            elsewhere("rsa_pem"),
            "it is not a public key on P-256 in PEM or base64",
        ),
        (
            ECDSA,
            "-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----",
            "not base64",
        ),
    ] {
        let error = compile(verify, &[secret]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("secret 1: {problem}")),
            "{verify}: {error}"
        );
    }
    let many: Vec<&str> = vec!["a:b"; 17];
    assert_eq!(
        compile("scheme = \"basic\"", &many).unwrap_err(),
        SetupError::TooManySecrets { count: 17 }
    );
}

#[test]
fn what_is_signed_here_verifies_and_a_public_key_cannot_sign() {
    let pair =
        hapax_verify::sign::generate_secret(hapax_verify::catalogue::get("sendgrid").unwrap(), &[9; 32]);
    let rsa = hapax_verify::sign::generate_secret(hapax_verify::catalogue::get("aws-sns").unwrap(), &[9; 32]);
    for (verify, signing, verifying) in [
        (HS256, "a key", "a key"),
        (ES256, pair.signing.as_str(), pair.verifying.as_str()),
        (RS256, rsa.signing.as_str(), rsa.verifying.as_str()),
        (ECDSA, pair.signing.as_str(), pair.verifying.as_str()),
        ("scheme = \"basic\"", "u:p", "u:p"),
    ] {
        let signer = ProviderSigner::of_proof(&proof(verify), signing, &Options::default()).unwrap();
        let delivery = signer.sign(Delivery {
            id: "evt_1".to_owned(),
            timestamp: NOW,
            body: BODY.as_bytes().to_vec(),
            ..Delivery::default()
        });
        let event = judge(&verifier(verify, &[verifying]), &delivery.headers, BODY, NOW).unwrap();
        assert_eq!(event.event_id, "evt_1", "{verify}");
        if signing != verifying {
            let error = ProviderSigner::of_proof(&proof(verify), verifying, &Options::default()).unwrap_err();
            assert!(
                error.to_string().contains("signing takes the private half"),
                "{error}"
            );
        }
    }
}

#[test]
fn no_token_makes_a_verifier_panic() {
    let verifier = verifier(HS256, &["key"]);
    let genuine = hs256(&json!({"iat": NOW}));
    let mut texts: Vec<String> = (0..genuine.len()).map(|end| genuine[..end].to_owned()).collect();
    texts.extend(["..", ".", "...", "e30.e30.", "e30.bnVsbA.AAAA"].map(str::to_owned));
    texts.push("x".repeat(10_000));
    for text in texts {
        assert!(judge(&verifier, &bearer(&text), BODY, NOW).is_err(), "{text}");
    }
}
