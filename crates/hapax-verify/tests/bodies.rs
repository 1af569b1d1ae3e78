//! Bodies as providers write them: JSON with a byte-order mark, and multipart forms.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, Signer, generate_secret};
use hapax_verify::{
    CustomScheme, Envelope, EventBody, IdentityRule, Options, Recipe, Rejection, Request, Scheme,
    Verification, Verifier, sample,
};

const NOW: i64 = 1_767_225_600;
const MARK: &[u8] = b"\xef\xbb\xbf";
const URL: &str = "https://hooks.example.com/in/sample";

fn events(verifier: &Verifier, delivery: &Delivery) -> Result<Vec<Envelope>, Rejection> {
    let request = Request::new(&delivery.headers, &delivery.body, NOW).url(&delivery.url);
    match verifier.verify(&request)? {
        Verification::Events(events) => Ok(events),
        other => panic!("{other:?}"),
    }
}

fn signed(provider: &Provider, secret: &SecretPair, body: Vec<u8>) -> Delivery {
    let signer = ProviderSigner::new(provider, &secret.signing, &provider.sample_options()).unwrap();
    signer.sign(Delivery {
        url: URL.to_owned(),
        body,
        ..sample::of_provider(provider, "sample_1").delivery(NOW)
    })
}

#[test]
fn a_mark_before_json_hides_no_id_of_any_sender() {
    for provider in catalogue::all() {
        let secret = generate_secret(provider, &[7; 32]);
        let body = sample::of_provider(provider, "sample_1").body;
        if !body.starts_with(b"{") && !body.starts_with(b"[") {
            continue;
        }
        let verifier = Verifier::new(
            &provider.recipe(),
            &[&secret.verifying],
            &provider.sample_options(),
        )
        .unwrap();
        let plain = signed(provider, &secret, body.clone());
        let expected = events(&verifier, &plain).unwrap();
        // A signature over fields of the body is made before the mark is added.
        let mut marked = signed(provider, &secret, [MARK, &body].concat());
        if marked.body == [MARK, &body].concat() && plain.body != body {
            marked.body = [MARK, &plain.body].concat();
        }
        let found =
            events(&verifier, &marked).unwrap_or_else(|rejection| panic!("{}: {rejection}", provider.name));
        assert_eq!(found.len(), expected.len(), "{}", provider.name);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.event_type, expected.event_type, "{}", provider.name);
            let (found_id, expected_id) = (without_hash(&found.event_id), without_hash(&expected.event_id));
            assert_eq!(found_id, expected_id, "{}", provider.name);
            // The delivered bytes are those that arrived.
            if let EventBody::Part(range) = &found.body {
                let EventBody::Part(plain_range) = &expected.body else {
                    panic!()
                };
                assert_eq!(
                    marked.body[range.clone()],
                    plain.body[plain_range.clone()],
                    "{}",
                    provider.name
                );
            }
        }
    }
}

/// An id without the parts that are hashes of a body, which a mark changes.
fn without_hash(event_id: &str) -> Vec<&str> {
    let is_hash = |text: &&str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    event_id.split(':').filter(|part| !is_hash(part)).collect()
}

#[test]
fn a_mark_belongs_to_what_is_signed() {
    let github = catalogue::get("github").unwrap();
    let secret = generate_secret(github, &[7; 32]);
    let verifier = Verifier::new(&github.recipe(), &[&secret.verifying], &Options::default()).unwrap();
    let mut delivery = signed(github, &secret, b"{\"action\":\"opened\"}".to_vec());
    delivery.body = [MARK, &delivery.body].concat();
    assert_eq!(events(&verifier, &delivery).unwrap_err().status(), 401);
}

#[test]
fn fields_of_a_form_in_parts_are_found_by_name() {
    let custom: CustomScheme = toml::from_str("scheme = \"hmac-sha256\"\nheader = \"x-signature\"").unwrap();
    let scheme = Scheme::try_from(custom).unwrap();
    let identity: IdentityRule =
        toml::from_str("class = \"own-id\"\nevent_id = \"form:id\"\nevent_type = \"form:payload#/type\"")
            .unwrap();
    let verifier = Verifier::new(
        &Recipe::custom(scheme.clone(), identity),
        &["s"],
        &Options::default(),
    )
    .unwrap();
    let parts = "--b1\r\nContent-Disposition: form-data; name=\"id\"; filename=\"id\"\r\n\r\na file\r\n\
        --b1\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nevt_1\r\n\
        --b1\r\nContent-Disposition: form-data; name=\"payload\"\r\nContent-Type: application/json\r\n\r\n{\"type\":\"t\"}\r\n--b1--\r\n";
    let judge = |content_type: &str, body: &str| {
        let mut headers = Signer::new(&scheme, "s")
            .unwrap()
            .sign("", NOW, "POST", "", body.as_bytes());
        headers.push(("content-type".to_owned(), content_type.to_owned()));
        let delivery = Delivery {
            headers,
            body: body.as_bytes().to_vec(),
            ..Delivery::default()
        };
        let event = events(&verifier, &delivery)?.remove(0);
        Ok::<_, Rejection>((event.event_id, event.event_type, event.id_is_signed))
    };
    let expected = Ok(("evt_1".to_owned(), Some("t".to_owned()), true));
    assert_eq!(judge("multipart/form-data; boundary=b1", parts), expected);
    assert_eq!(judge("multipart/form-data; boundary=\"b1\"", parts), expected);
    let escaped = "payload=%7B%22type%22%3A%22t%22%7D&id=evt_1";
    assert_eq!(judge("application/x-www-form-urlencoded", escaped), expected);
    // A form read as the wrong kind has no id.
    assert_eq!(judge("text/plain", parts).unwrap_err().code(), "event_id_missing");
    assert_eq!(
        judge("multipart/form-data; boundary=b2", parts)
            .unwrap_err()
            .code(),
        "event_id_missing"
    );
    assert_eq!(
        judge("multipart/form-data; boundary=b1", escaped)
            .unwrap_err()
            .code(),
        "event_id_missing"
    );
}
