//! Properties of every preset: nothing panics, signed deliveries verify, and deliveries altered afterwards do not.
//!
//! No preset is named here. If a provider does not sign its body, the catalogue says so (`body_is_signed`).

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeMap;
use std::time::Instant;

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{
    Authentication, Encoding, Envelope, Options, Rejection, Request, Verification, Verifier, sample,
};
use parking_lot::Mutex;
use proptest::prelude::*;

const NOW: i64 = 1_767_225_600;
const URL: &str = "https://hooks.example.com/in/here?a=1";

/// A signed delivery of a preset, and its verifier.
struct Trial {
    provider: &'static Provider,
    verifier: Verifier,
    unsigned: Delivery,
    delivery: Delivery,
}

impl Trial {
    fn new(provider: &'static Provider) -> Self {
        Self::of(provider, "id-1", None)
    }

    fn of(provider: &'static Provider, id: &str, body: Option<Vec<u8>>) -> Self {
        let options = provider.sample_options();
        let secret = secret(provider, NEWER);
        let signer = ProviderSigner::new(provider, &secret.signing, &options).unwrap();
        let mut unsigned = sample::of_provider(provider, id).delivery(NOW);
        URL.clone_into(&mut unsigned.url);
        unsigned.body = body.unwrap_or(unsigned.body);
        Trial {
            provider,
            verifier: Verifier::new(&provider.recipe(), &[&secret.verifying], &options).unwrap(),
            delivery: signer.sign(unsigned.clone()),
            unsigned,
        }
    }

    fn verify(&self) -> Result<Vec<Envelope>, Rejection> {
        let headers = bytes(&self.delivery.headers);
        self.judge(&self.delivery.url, &headers, &self.delivery.body, NOW)
    }

    fn judge(
        &self,
        url: &str,
        headers: &HeaderBytes,
        body: &[u8],
        at: i64,
    ) -> Result<Vec<Envelope>, Rejection> {
        let request = Request::new(headers, body, at).url(url);
        match self.verifier.verify(&request)? {
            Verification::Events(events) => Ok(events),
            other => panic!("{}: {other:?}", self.provider.name),
        }
    }

    /// The indexes of the headers in which the signer wrote the proof. Headers that a coded proof adds but does not
    /// list are informational.
    fn proof_headers(&self) -> Vec<usize> {
        let proof = &self.provider.proof;
        let (is_described, names) = (proof.scheme().is_some(), proof.headers());
        let added = |(_, header): &(usize, &(String, String))| {
            !self.unsigned.headers.contains(header) && (is_described || names.contains(&header.0))
        };
        let headers = self.delivery.headers.iter().enumerate();
        headers.filter(added).map(|(place, _)| place).collect()
    }

    /// Whether the case of a header's value is irrelevant: in hexadecimal, and in the scheme of `Authorization`.
    fn ignores_case(&self) -> bool {
        let is_base64 = |kind: &hapax_verify::scheme::SignatureKind| kind.encoding == Encoding::Base64;
        let scheme = self.provider.proof.scheme();
        !scheme.is_some_and(|scheme| scheme.signatures.iter().all(is_base64))
    }
}

const OLDER: u8 = 9;
const NEWER: u8 = 3;

/// A secret of the preset, always the same for the same number: an RSA key takes long to make, and differs each time.
fn secret(provider: &Provider, number: u8) -> SecretPair {
    static MADE: Mutex<BTreeMap<(String, u8), SecretPair>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock();
    let key = (provider.name.clone(), number);
    let pair = made
        .entry(key)
        .or_insert_with(|| generate_secret(provider, &[number; 32]));
    pair.clone()
}

type HeaderBytes = Vec<(String, Vec<u8>)>;

fn bytes(headers: &[(String, String)]) -> HeaderBytes {
    let each = |(name, value): &(String, String)| (name.clone(), value.clone().into_bytes());
    headers.iter().map(each).collect()
}

/// The bytes with one bit flipped, once for each byte and with varying bits; with `ignore_case`, never a flip that only
/// changes the case.
fn flips(bytes: &[u8], ignore_case: bool) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..bytes.len()).filter_map(move |place| {
        let mut touched = bytes.to_vec();
        touched[place] ^= 1 << (place % 8);
        let same = ignore_case && touched.eq_ignore_ascii_case(bytes);
        (!same).then_some(touched)
    })
}

#[test]
fn a_flipped_bit_anywhere_in_a_signed_body_is_refused() {
    let mut unsigned = 0;
    for provider in catalogue::all() {
        let trial = Trial::new(provider);
        assert_eq!(
            trial.verifier.body_is_signed(),
            provider.delivery.body_is_signed,
            "{}",
            provider.name
        );
        let headers = bytes(&trial.delivery.headers);
        for touched in flips(&trial.delivery.body, false) {
            let result = trial.judge(&trial.delivery.url, &headers, &touched, NOW);
            if provider.delivery.body_is_signed {
                assert_eq!(result.unwrap_err().status(), 401, "{}", provider.name);
            }
        }
        unsigned += usize::from(!provider.delivery.body_is_signed);
    }
    assert!(
        unsigned < catalogue::all().len() / 3,
        "most providers sign their bodies"
    );
}

#[test]
fn a_flipped_bit_anywhere_in_a_proof_is_refused() {
    for provider in catalogue::all() {
        let trial = Trial::new(provider);
        for place in trial.proof_headers() {
            let mut headers = bytes(&trial.delivery.headers);
            let (name, value) = headers[place].clone();
            for touched in flips(&value, trial.ignores_case()) {
                headers[place].1 = touched;
                let result = trial.judge(&trial.delivery.url, &headers, &trial.delivery.body, NOW);
                let shown = String::from_utf8_lossy(&headers[place].1).into_owned();
                assert!(result.is_err(), "{}: {name}: {shown}", provider.name);
            }
        }
    }
}

#[test]
fn a_flipped_bit_in_the_path_or_query_of_a_signed_url_is_refused() {
    for provider in catalogue::all() {
        let trial = Trial::new(provider);
        let carries_token = trial.delivery.url != trial.unsigned.url;
        if !carries_token && !provider.proof.covers_url() {
            continue;
        }
        let start = if carries_token {
            trial.unsigned.url.len()
        } else {
            "https://hooks.example.com/".len()
        };
        let headers = bytes(&trial.delivery.headers);
        for touched in flips(&trial.delivery.url.as_bytes()[start..], false) {
            let Ok(touched) = String::from_utf8(touched) else {
                continue;
            };
            let url = format!("{}{touched}", &trial.delivery.url[..start]);
            let result = trial.judge(&url, &headers, &trial.delivery.body, NOW);
            assert!(result.is_err(), "{}: {url}", provider.name);
        }
    }
}

#[test]
fn a_proof_that_is_not_there_is_missed() {
    for provider in catalogue::all() {
        let trial = Trial::new(provider);
        let unsigned = &trial.unsigned;
        let result = trial.judge(&unsigned.url, &bytes(&unsigned.headers), &unsigned.body, NOW);
        assert_eq!(result.unwrap_err().status(), 401, "{}", provider.name);
    }
}

#[test]
fn the_halves_of_a_verification_make_the_whole_and_the_second_reads_nothing_but_the_body() {
    let mut halved = 0;
    for provider in catalogue::all() {
        let Trial {
            verifier,
            unsigned,
            delivery,
            ..
        } = Trial::new(provider);
        let request = Request::new(&delivery.headers, &delivery.body, NOW).url(&delivery.url);
        let Some(authentication) = verifier.authenticate(&request) else {
            continue;
        };
        let genuine = match authentication {
            Ok(Authentication::Genuine(genuine)) => genuine,
            other => panic!("{}: {other:?}", provider.name),
        };
        halved += 1;
        let whole = verifier.verify(&request);
        assert!(
            matches!(&whole, Ok(Verification::Events(events)) if events.len() == 1),
            "{}: {whole:?}",
            provider.name
        );
        assert_eq!(verifier.identify(&request, &genuine), whole, "{}", provider.name);
        let bare = HeaderBytes::new();
        let bare = Request::new(&bare, &delivery.body, 0);
        assert_eq!(verifier.identify(&bare, &genuine), whole, "{}", provider.name);
        let forged = Request::new(&unsigned.headers, &unsigned.body, NOW).url(&unsigned.url);
        let refused = verifier.authenticate(&forged).unwrap().unwrap_err();
        assert_eq!(refused.status(), 401, "{}", provider.name);
    }
    assert!(halved > 5, "{halved}");
}

#[test]
fn old_and_future_timestamps_are_refused_and_recent_ones_are_not() {
    let mut timed = 0;
    for provider in catalogue::all() {
        let trial = Trial::new(provider);
        let signed_at = trial.verify().unwrap()[0].signed_at;
        let (Some(_), Some(tolerance)) = (signed_at, provider.proof.tolerance_seconds()) else {
            continue;
        };
        timed += 1;
        let headers = bytes(&trial.delivery.headers);
        let at = |time| trial.judge(&trial.delivery.url, &headers, &trial.delivery.body, time);
        let (name, tolerance) = (&provider.name, i64::from(tolerance));
        for time in [NOW - tolerance + 1, NOW + tolerance - 1] {
            assert!(at(time).is_ok(), "{name}: {time}");
        }
        for time in [NOW - tolerance - 1, NOW + tolerance + 1, 0, i64::MAX, i64::MIN] {
            assert_eq!(
                at(time).unwrap_err().code(),
                "timestamp_out_of_range",
                "{name}: {time}"
            );
        }
    }
    assert!(timed > 10, "{timed}");
}

#[test]
fn the_second_of_two_secrets_is_accepted() {
    for provider in catalogue::all() {
        let trial = Trial::new(provider);
        let [older, newer] = [OLDER, NEWER].map(|number| secret(provider, number).verifying);
        let options = provider.sample_options();
        let verifier = Verifier::new(&provider.recipe(), &[&older, &newer], &options).unwrap();
        let both = Trial { verifier, ..trial };
        assert_eq!(
            both.verify().unwrap()[0].secret_index,
            Some(1),
            "{}",
            provider.name
        );
        let verifier = Verifier::new(&provider.recipe(), &[&older], &options).unwrap();
        let other = Trial { verifier, ..both };
        assert_eq!(other.verify().unwrap_err().status(), 401, "{}", provider.name);
    }
}

#[test]
fn a_body_that_is_no_text_gets_a_clear_verdict() {
    for provider in catalogue::all() {
        for body in [
            b"\xff\xfe\x00".as_slice(),
            b"",
            b"{\"id\":\"\xc3\x28\"}",
            b"[\"",
            b"null",
            b"[[[[",
            b"a=%ff&b",
        ] {
            let trial = Trial::of(provider, "id-1", Some(body.to_vec()));
            match trial.verify() {
                Ok(_) => {}
                Err(rejection) => {
                    assert!(
                        [400, 401].contains(&rejection.status()),
                        "{}: {rejection}",
                        provider.name
                    );
                    // A signature over arbitrary bytes is valid.
                    let is_described = provider.proof.scheme().is_some();
                    assert!(
                        !is_described || rejection.code() != "signature_invalid",
                        "{}: {rejection}",
                        provider.name
                    );
                }
            }
        }
    }
}

fn providers() -> impl Strategy<Value = &'static Provider> {
    proptest::sample::select(catalogue::all().iter().collect::<Vec<_>>())
}

fn header_values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..64),
        "(t=|ts=|v1=|v1,|v1a,|h1=|sha256=|sha1=|v0=|,|;| |=|[0-9a-f]{64}|[A-Za-z0-9+/]{43}=|1767225600|2026-01-01T00:00:00Z){0,12}"
            .prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn arbitrary_requests_never_panic_and_never_verify(
        provider in providers(),
        values in proptest::collection::vec(header_values(), 12),
        body in proptest::collection::vec(any::<u8>(), 0..256),
        url in ".{0,16}",
        received_at in any::<i64>(),
    ) {
        // The header names that this preset reads, so that arbitrary values reach the parsers behind them.
        let names = Trial::new(provider).delivery.headers.into_iter().map(|(name, _)| name);
        let headers: HeaderBytes = names.zip(values).collect();
        let secret = secret(provider, OLDER).verifying;
        let verifier = Verifier::new(&provider.recipe(), &[&secret], &provider.sample_options()).unwrap();
        let request = Request::new(&headers, &body, received_at).url(&url);
        let rejection = verifier.verify(&request).unwrap_err();
        prop_assert!([400, 401].contains(&rejection.status()));
        prop_assert!(!rejection.to_string().contains(&secret));
        prop_assert!(!verifier.explain(&request).is_empty());
    }

    #[test]
    fn arbitrary_secrets_never_panic(provider in providers(), secret in "(whsec_|whpk_|whsk_|-----BEGIN )?.{0,90}") {
        let _ = Verifier::new(&provider.recipe(), &[&secret], &Options::default());
        let _ = ProviderSigner::new(provider, &secret, &Options::default());
    }

    #[test]
    fn a_delivery_with_any_id_verifies_under_that_id(provider in providers(), id in "[a-zA-Z0-9_-]{1,40}") {
        let trial = Trial::of(provider, &id, None);
        let events = trial.verify().unwrap();
        let other = Trial::of(provider, &format!("{id}x"), None).verify().unwrap();
        // A provider without ids has none; every other has a different one.
        prop_assert!(provider.identity.event_id.is_none() || events[0].event_id != other[0].event_id);
        prop_assert_eq!(&events, &trial.verify().unwrap());
    }

    #[test]
    fn any_body_at_all_can_be_signed_and_verified(body in proptest::collection::vec(any::<u8>(), 0..512)) {
        let trial = Trial::of(catalogue::get("github").unwrap(), "d1", Some(body));
        prop_assert!(trial.verify().is_ok());
    }
}

/// Prints the cost of a verification; asserts that it works, not how long it takes.
#[test]
fn verification_of_many_deliveries_reports_its_rate() {
    const ROUNDS: u32 = 200;
    for provider in catalogue::all() {
        let trial = Trial::new(provider);
        let headers = bytes(&trial.delivery.headers);
        let started = Instant::now();
        for _ in 0..ROUNDS {
            let result = trial.judge(&trial.delivery.url, &headers, &trial.delivery.body, NOW);
            assert!(result.is_ok(), "{}", provider.name);
        }
        println!("{}: {:?} each", provider.name, started.elapsed() / ROUNDS);
    }
}
