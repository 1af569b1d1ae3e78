//! Properties: nothing panics, what is signed verifies, and what is touched afterwards does not.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::time::Instant;

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{Signer, generate_secret};
use hapax_verify::{Options, Request, Verdict, Verifier, sample};
use proptest::prelude::*;

const NOW: i64 = 1_767_225_600;

/// The presets whose proof is data; `tests/coded.rs` has the others.
fn providers() -> impl Strategy<Value = &'static Provider> {
    let described = catalogue::all()
        .iter()
        .filter(|provider| provider.proof.scheme().is_some());
    proptest::sample::select(described.collect::<Vec<_>>())
}

fn verifier(provider: &Provider, secret: &str) -> Verifier {
    Verifier::new(&provider.recipe(), &[secret], &Options::default()).unwrap()
}

/// Names that the presets look at, so that random headers reach the parsers behind them.
fn header_names() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "stripe-signature",
        "x-hub-signature-256",
        "x-github-delivery",
        "x-github-event",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "svix-id",
    ])
}

fn header_values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..64),
        "(t=|v1=|v1,|v1a,|sha256=|,| |=|[0-9a-f]{64}|1767225600){0,12}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn arbitrary_requests_never_panic_and_never_verify(
        provider in providers(),
        headers in proptest::collection::vec((header_names(), header_values()), 0..8),
        body in proptest::collection::vec(any::<u8>(), 0..256),
        url in ".{0,16}",
        received_at in any::<i64>(),
    ) {
        let secret = generate_secret(provider, &[1; 32]).verifying;
        let verifier = verifier(provider, &secret);
        let request = Request::new(&headers, &body, received_at).url(&url);
        let rejection = verifier.verify(&request).unwrap_err();
        prop_assert!([400, 401].contains(&rejection.status()));
        prop_assert!(!rejection.to_string().contains(&secret));
        prop_assert!(!verifier.explain(&request).is_empty());
    }

    #[test]
    fn arbitrary_secrets_never_panic(provider in providers(), secret in "(whsec_|whpk_|whsk_)?.{0,90}") {
        let _ = Verifier::new(&provider.recipe(), &[&secret], &Options::default());
        let _ = Signer::new(provider.proof.scheme().unwrap(), &secret);
    }

    #[test]
    fn what_is_signed_verifies_and_any_flipped_bit_of_the_body_does_not(
        provider in providers(),
        random in any::<[u8; 32]>(),
        id in "[a-zA-Z0-9_-]{1,40}",
        position in any::<proptest::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let secret = generate_secret(provider, &random);
        let delivery = sample::of_provider(provider, &id);
        let mut headers = Signer::new(provider.proof.scheme().unwrap(), &secret.signing).unwrap().sign(&id, NOW, "POST", "", &delivery.body);
        headers.extend(delivery.headers);
        let verifier = verifier(provider, &secret.verifying);
        let request = |body| Request::new(&headers, body, NOW);
        let Verdict::Events(events) = verifier.verify(&request(&delivery.body)).unwrap() else { panic!() };
        prop_assert_eq!(&events[0].event_id, &id);

        let mut touched = delivery.body.clone();
        touched[position.index(delivery.body.len())] ^= 1 << bit;
        prop_assert_eq!(verifier.verify(&request(&touched)).unwrap_err().code(), "signature_invalid");
    }

    #[test]
    fn a_signature_with_any_other_character_does_not_verify(
        provider in providers(),
        position in any::<proptest::sample::Index>(),
        replacement in "[0-9a-zA-Z+/=]",
    ) {
        let secret = generate_secret(provider, &[3; 32]);
        let delivery = sample::of_provider(provider, "id_1");
        let mut headers = Signer::new(provider.proof.scheme().unwrap(), &secret.signing).unwrap().sign("id_1", NOW, "POST", "", &delivery.body);
        let value = &mut headers.last_mut().unwrap().1;
        // Hexadecimal may be written in either case, so only another digit is another signature.
        let at = position.index(value.len());
        prop_assume!(!value[at..=at].eq_ignore_ascii_case(&replacement));
        value.replace_range(at..=at, &replacement);
        headers.extend(delivery.headers);
        let request = Request::new(&headers, &delivery.body, NOW);
        prop_assert_eq!(verifier(provider, &secret.verifying).verify(&request).unwrap_err().status(), 401);
    }

    #[test]
    fn any_body_at_all_can_be_signed_and_verified(body in proptest::collection::vec(any::<u8>(), 0..512)) {
        let provider = catalogue::get("github").unwrap();
        let mut headers = Signer::new(provider.proof.scheme().unwrap(), "secret").unwrap().sign("", NOW, "POST", "", &body);
        headers.push(("x-github-delivery".to_owned(), "d1".to_owned()));
        let request = Request::new(&headers, &body, NOW);
        prop_assert!(verifier(provider, "secret").verify(&request).is_ok());
    }
}

/// Prints what a verification costs; asserts that it works, not how long it takes.
#[test]
fn verification_of_many_deliveries_reports_its_rate() {
    const ROUNDS: u32 = 2_000;
    for provider in catalogue::all()
        .iter()
        .filter(|provider| provider.proof.scheme().is_some())
    {
        let secret = generate_secret(provider, &[5; 32]);
        let delivery = sample::of_provider(provider, "id_1");
        let signer = Signer::new(provider.proof.scheme().unwrap(), &secret.signing).unwrap();
        let mut headers = signer.sign("id_1", NOW, "POST", "", &delivery.body);
        headers.extend(delivery.headers);
        let verifier = verifier(provider, &secret.verifying);
        let started = Instant::now();
        for _ in 0..ROUNDS {
            let request = Request::new(&headers, &delivery.body, NOW);
            assert!(verifier.verify(&request).is_ok());
        }
        println!("{}: {:?} each", provider.name, started.elapsed() / ROUNDS);
    }
}
