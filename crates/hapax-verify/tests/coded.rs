//! Properties of the proofs that are code: nothing panics, signed deliveries verify, altered ones do not.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::sync::LazyLock;

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::vectors::File;
use hapax_verify::{OptionValue, Proof, Request, Verification, Verifier, sample};
use proptest::prelude::*;

const NOW: i64 = 1_767_225_600;
const URL: &str = "https://hooks.example.com/in?a=b%3Ac&d=%20";

/// A preset with a secret that is made once: an RSA key takes a while.
#[derive(Debug)]
struct Subject {
    provider: &'static Provider,
    secret: SecretPair,
    verifier: Verifier,
}

static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let coded = catalogue::all()
        .iter()
        .filter(|provider| matches!(provider.proof, Proof::Coded(_)));
    coded
        .map(|provider| {
            let secret = generate_secret(provider, &[7; 32]);
            let options = provider.sample_options();
            let verifier = Verifier::new(&provider.recipe(), &[&secret.verifying], &options).unwrap();
            Subject {
                provider,
                secret,
                verifier,
            }
        })
        .collect()
});

impl Subject {
    fn signed(&self, id: &str) -> Delivery {
        let signer = ProviderSigner::new(
            self.provider,
            &self.secret.signing,
            &self.provider.sample_options(),
        );
        let mut delivery = sample::of_provider(self.provider, id).delivery(NOW);
        URL.clone_into(&mut delivery.url);
        signer.unwrap().sign(delivery)
    }

    fn accepts(&self, delivery: &Delivery) -> bool {
        let request = Request::new(&delivery.headers, &delivery.body, NOW).url(&delivery.url);
        matches!(self.verifier.verify(&request), Ok(Verification::Events(events)) if !events.is_empty())
    }
}

fn subjects() -> impl Strategy<Value = &'static Subject> {
    proptest::sample::select(SUBJECTS.iter().collect::<Vec<_>>())
}

fn header_names() -> impl Strategy<Value = String> {
    let names = SUBJECTS.iter().flat_map(|subject| subject.signed("x").headers);
    let mut names: Vec<String> = names.map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    proptest::sample::select(names)
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let signed: Vec<Vec<u8>> = SUBJECTS.iter().map(|subject| subject.signed("x").body).collect();
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..256),
        (
            proptest::sample::select(signed),
            any::<proptest::sample::Index>(),
            any::<u8>()
        )
            .prop_map(|(mut body, at, byte)| {
                let at = at.index(body.len());
                body[at] = byte;
                body
            }),
    ]
}

proptest! {
    #[test]
    fn arbitrary_requests_never_panic_and_show_no_secret(
        subject in subjects(),
        headers in proptest::collection::vec((header_names(), ".{0,64}"), 0..8),
        body in bodies(),
        url in ".{0,32}",
        received_at in any::<i64>(),
    ) {
        let request = Request::new(&headers, &body, received_at).url(&url);
        if let Err(rejection) = subject.verifier.verify(&request) {
            prop_assert!([400, 401].contains(&rejection.status()));
            prop_assert!(!rejection.to_string().contains(&subject.secret.verifying));
        }
        prop_assert!(!subject.verifier.explain(&request).is_empty());
    }

    #[test]
    fn arbitrary_secrets_never_panic(subject in subjects(), secret in "(-----BEGIN CERTIFICATE-----)?.{0,90}") {
        let options = subject.provider.sample_options();
        let _ = Verifier::new(&subject.provider.recipe(), &[&secret], &options);
        let _ = ProviderSigner::new(subject.provider, &secret, &options);
    }

    #[test]
    fn what_is_signed_verifies_and_what_is_not_does_not(subject in subjects(), id in "[a-zA-Z0-9_-]{1,40}") {
        let delivery = subject.signed(&id);
        prop_assert!(subject.accepts(&delivery), "{}", subject.provider.name);
        let mut unsigned = delivery.clone();
        unsigned.headers.clear();
        unsigned.body = sample::of_provider(subject.provider, &id).body;
        prop_assert!(!subject.accepts(&unsigned), "{}", subject.provider.name);
    }

    /// If the whole body is signed, no bit of it can be changed.
    #[test]
    fn any_flipped_bit_of_a_body_that_is_signed_as_a_whole_is_noticed(
        name in proptest::sample::select(vec!["contentful", "hubspot", "plaid", "paypal"]),
        position in any::<proptest::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let subject = SUBJECTS.iter().find(|subject| subject.provider.name == name).unwrap();
        let mut delivery = subject.signed("id_1");
        let at = position.index(delivery.body.len());
        delivery.body[at] ^= 1 << bit;
        prop_assert!(!subject.accepts(&delivery), "{name} {at}");
    }
}

#[test]
fn a_fresh_secret_of_another_sender_account_verifies_nothing() {
    for subject in SUBJECTS.iter() {
        let provider = subject.provider;
        let other = generate_secret(provider, &[9; 32]);
        let verifier =
            Verifier::new(&provider.recipe(), &[other.verifying], &provider.sample_options()).unwrap();
        let delivery = subject.signed("id_1");
        let request = Request::new(&delivery.headers, &delivery.body, NOW).url(&delivery.url);
        assert_eq!(
            verifier.verify(&request).unwrap_err().status(),
            401,
            "{}",
            provider.name
        );
    }
}

#[test]
fn without_an_option_that_it_needs_no_verifier_is_made() {
    for subject in SUBJECTS.iter() {
        let needs = subject.provider.options.iter().any(|option| option.required);
        let recipe = subject.provider.recipe();
        let made = Verifier::new(
            &recipe,
            &[&subject.secret.verifying],
            &hapax_verify::Options::default(),
        );
        assert_eq!(made.is_err(), needs, "{}", subject.provider.name);
    }
}

#[test]
fn a_private_key_is_not_taken_where_the_public_one_belongs() {
    for name in ["aws-sns", "paypal", "plaid"] {
        let subject = SUBJECTS
            .iter()
            .find(|subject| subject.provider.name == name)
            .unwrap();
        let options = subject.provider.sample_options();
        let made = Verifier::new(&subject.provider.recipe(), &[&subject.secret.signing], &options);
        assert!(made.is_err(), "{name}");
    }
}

/// A certificate that is truncated or altered anywhere is refused or yields another key; it never causes a panic.
#[test]
fn a_damaged_certificate_never_verifies_what_the_whole_one_does_not() {
    let file: File = serde_json::from_str(include_str!("vectors/paypal.json")).unwrap();
    let vector = &file.vectors[0];
    let paypal = catalogue::get("paypal").unwrap();
    let pem = vector.keys().into_values().next().unwrap();
    for at in 0..pem.len() {
        let mut cut = vector.clone();
        let text = String::from_utf8(pem[..at].to_vec()).unwrap();
        let table = serde_json::json!({ vector.headers["PAYPAL-CERT-URL"].clone(): text });
        cut.config.insert("certificates".to_owned(), table);
        assert!(cut.verification(paypal).is_err() || at >= pem.len() - 1, "{at}");
    }
}

#[test]
fn a_topic_that_is_not_listed_is_refused_though_its_message_is_genuine() {
    let subject = SUBJECTS
        .iter()
        .find(|subject| subject.provider.name == "aws-sns")
        .unwrap();
    let delivery = subject.signed("id_1");
    let topics = OptionValue::List(vec!["arn:aws:sns:us-east-1:123456789012:other".to_owned()]);
    let options = [("topic_arns", topics)].into_iter().collect();
    let recipe = subject.provider.recipe();
    let verifier = Verifier::new(&recipe, &[&subject.secret.verifying], &options).unwrap();
    let request = Request::new(&delivery.headers, &delivery.body, NOW);
    let rejection = verifier.verify(&request).unwrap_err();
    assert!(rejection.to_string().contains("topic_arns"), "{rejection}");
}
