//! Properties: nothing panics, what is signed verifies, and what is touched afterwards does not.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{Options, Rejection, Request, Verdict, Verifier, sample};
use proptest::prelude::*;
use proptest::sample::Index;

const NOW: i64 = 1_767_225_600;
/// The sender whose deliveries name their key, so that no other is tried.
const NAMED_KEYS: &str = "plaid";
const URL: &str = "https://hooks.example.com/in/sample";

fn providers() -> impl Strategy<Value = &'static Provider> {
    proptest::sample::select(catalogue::all().iter().collect::<Vec<_>>())
}

/// The presets whose proof is data and covers the body.
fn signing_bodies() -> impl Strategy<Value = &'static Provider> {
    let described = catalogue::all().iter().filter(|provider| {
        let scheme = provider.proof.scheme();
        scheme.is_some_and(|scheme| scheme.signed.covers_body())
    });
    proptest::sample::select(described.collect::<Vec<_>>())
}

fn verifier(provider: &Provider, secret: &str) -> Verifier {
    Verifier::new(&provider.recipe(), &[secret], &provider.sample_options()).unwrap()
}

fn signed(provider: &Provider, pair: &SecretPair, id: &str) -> Delivery {
    let signer = ProviderSigner::new(provider, &pair.signing, &provider.sample_options()).unwrap();
    signer.sign(Delivery {
        url: URL.to_owned(),
        ..sample::of_provider(provider, id).delivery(NOW)
    })
}

fn verify(verifier: &Verifier, delivery: &Delivery, now: i64) -> Result<Verdict, Rejection> {
    verifier.verify(&Request::new(&delivery.headers, &delivery.body, now).url(&delivery.url))
}

/// Some senders number their signature headers.
fn is_called(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(prefix) => name.to_ascii_lowercase().starts_with(prefix),
        None => known.eq_ignore_ascii_case(name),
    }
}

/// Names that the presets look at, so that random headers reach the parsers behind them.
fn header_names() -> impl Strategy<Value = String> {
    let names = catalogue::all().iter().flat_map(|provider| {
        let sample = provider.sample.headers.keys().cloned();
        provider.proof.headers().into_iter().chain(sample)
    });
    proptest::sample::select(names.collect::<Vec<_>>())
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
        match verifier.verify(&request) {
            // A key that is named can be asked for, and an empty handshake can be answered.
            Ok(verdict) => prop_assert!(!matches!(verdict, Verdict::Events(_)), "{}", provider.name),
            Err(rejection) => {
                prop_assert!([400, 401, 403].contains(&rejection.status()));
                prop_assert!(!rejection.to_string().contains(&secret));
            }
        }
        prop_assert!(!verifier.explain(&request).is_empty());
    }

    #[test]
    fn arbitrary_secrets_never_panic(provider in providers(), secret in "(whsec_|whpk_|whsk_)?.{0,90}") {
        let _ = Verifier::new(&provider.recipe(), &[&secret], &Options::default());
        let _ = ProviderSigner::new(provider, &secret, &Options::default());
    }

    #[test]
    fn what_is_signed_verifies_and_any_flipped_bit_of_the_body_does_not(
        provider in signing_bodies(),
        random in any::<[u8; 32]>(),
        id in "[a-zA-Z0-9_-]{1,40}",
        position in any::<Index>(),
        bit in 0..8_u32,
    ) {
        let pair = generate_secret(provider, &random);
        let mut delivery = signed(provider, &pair, &id);
        let verifier = verifier(provider, &pair.verifying);
        prop_assert!(matches!(verify(&verifier, &delivery, NOW), Ok(Verdict::Events(_))), "{}", provider.name);
        let at = position.index(delivery.body.len());
        delivery.body[at] ^= 1 << bit;
        let rejection = verify(&verifier, &delivery, NOW).unwrap_err();
        prop_assert_eq!(rejection.status(), 401, "{}: {}", provider.name, rejection);
    }

    #[test]
    fn a_signature_with_any_other_character_does_not_verify(
        provider in signing_bodies(),
        header in any::<Index>(),
        position in any::<Index>(),
        replacement in "[0-9a-zA-Z+/=]",
    ) {
        let pair = generate_secret(provider, &[3; 32]);
        let mut delivery = signed(provider, &pair, "id_1");
        let names = provider.proof.headers();
        let mut signatures: Vec<&mut String> = delivery
            .headers
            .iter_mut()
            .filter(|(name, _)| names.iter().any(|known| is_called(known, name)))
            .map(|(_, value)| value)
            .collect();
        let count = signatures.len();
        prop_assert!(count > 0, "{}: {:?}", provider.name, names);
        let value = &mut *signatures[header.index(count)];
        // Hexadecimal may be written in either case, so only another digit is another signature.
        let at = position.index(value.len());
        prop_assume!(!value[at..=at].eq_ignore_ascii_case(&replacement));
        value.replace_range(at..=at, &replacement);
        let rejection = verify(&verifier(provider, &pair.verifying), &delivery, NOW).unwrap_err();
        prop_assert_eq!(rejection.status(), 401, "{}: {}", provider.name, rejection);
    }

    #[test]
    fn any_body_at_all_can_be_signed_and_verified(body in proptest::collection::vec(any::<u8>(), 0..512)) {
        let provider = catalogue::get("github").unwrap();
        let signer = ProviderSigner::new(provider, "secret", &Options::default()).unwrap();
        let sample = sample::of_provider(provider, "d1").delivery(NOW);
        let delivery = signer.sign(Delivery { body, ..sample });
        prop_assert!(verify(&verifier(provider, "secret"), &delivery, NOW).is_ok());
    }
}

#[test]
fn the_second_of_two_secrets_is_accepted_and_a_third_is_not() {
    for provider in catalogue::all() {
        let [first, second, third] = [1, 2, 3].map(|byte| generate_secret(provider, &[byte; 32]));
        // One key pair serves every sample of a sender whose keys are costly to make, and a key that the delivery names
        // is the only one that is tried.
        if first.verifying == second.verifying || provider.name == NAMED_KEYS {
            continue;
        }
        let secrets = [&first.verifying, &second.verifying];
        let verifier = Verifier::new(&provider.recipe(), &secrets, &provider.sample_options()).unwrap();
        for pair in [&first, &second] {
            let delivery = signed(provider, pair, "id_1");
            let verdict = verify(&verifier, &delivery, NOW);
            assert!(verdict.is_ok(), "{}: {verdict:?}", provider.name);
        }
        let foreign = verify(&verifier, &signed(provider, &third, "id_1"), NOW);
        let rejection = foreign.expect_err(&provider.name);
        assert_eq!(rejection.code(), "signature_invalid", "{}", provider.name);
    }
}

#[test]
fn a_delivery_that_is_years_old_or_early_is_refused_where_a_time_is_signed() {
    for provider in catalogue::all() {
        let pair = generate_secret(provider, &[7; 32]);
        let verifier = verifier(provider, &pair.verifying);
        let delivery = signed(provider, &pair, "id_1");
        let Ok(Verdict::Events(events)) = verify(&verifier, &delivery, NOW) else {
            panic!("{}", provider.name)
        };
        if provider.proof.tolerance_seconds().is_none() || events[0].signed_at.is_none() {
            continue;
        }
        for now in [NOW - 400_000_000, NOW + 400_000_000] {
            let rejection = verify(&verifier, &delivery, now).expect_err(&provider.name);
            assert_eq!(rejection.code(), "timestamp_out_of_range", "{}", provider.name);
        }
    }
}

#[test]
fn a_body_that_is_no_text_is_judged_by_every_provider() {
    for provider in catalogue::all() {
        let pair = generate_secret(provider, &[7; 32]);
        let signer = ProviderSigner::new(provider, &pair.signing, &provider.sample_options()).unwrap();
        for body in [
            b"\xff\xfe\x00{\"id\":".to_vec(),
            b"{\"id\":\"\xff\"}".to_vec(),
            Vec::new(),
        ] {
            let sample = sample::of_provider(provider, "id_1").delivery(NOW);
            let delivery = signer.sign(Delivery {
                body,
                url: URL.to_owned(),
                ..sample
            });
            if let Err(rejection) = verify(&verifier(provider, &pair.verifying), &delivery, NOW) {
                assert!([400, 401].contains(&rejection.status()), "{}", provider.name);
            }
        }
    }
}
