//! The cost of verifying a delivery and identifying its event.
//!
//! `cargo bench -p hapax-verify`; the figures are in `docs/benchmarks.md`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot start may end")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{Delivery, ProviderSigner, generate_secret};
use hapax_verify::{Algorithm, Request, Verifier, sample};
use serde_json::Value;

const NOW: i64 = 1_767_225_600;
const KIBIBYTE: usize = 1024;

fn main() {
    divan::main();
}

/// The signature alone: the id is in a header, so the body is not parsed.
#[divan::bench(args = [1, 4, 16, 64, 256])]
fn hmac_sha256_of_kibibytes(bencher: Bencher<'_, '_>, kibibytes: usize) {
    let provider = catalogue::get("github").unwrap();
    let bench = Bench::new(provider, vec![b'x'; kibibytes * KIBIBYTE]);
    bencher
        .counter(BytesCount::new(kibibytes * KIBIBYTE))
        .bench_local(|| bench.verify());
}

/// Signature, time, id and type of a 1 KiB delivery.
#[divan::bench(args = names())]
fn verify_and_identify_one_kibibyte(bencher: Bencher<'_, '_>, name: &str) {
    let provider = catalogue::get(name).unwrap();
    let bench = Bench::new(provider, padded_sample(provider));
    bencher.bench_local(|| bench.verify());
}

/// The presets that sign a JSON body with HMAC-SHA-256.
fn names() -> Vec<&'static str> {
    let fitting = |provider: &&Provider| {
        let scheme = provider.proof.scheme();
        let keyed = scheme.and_then(|scheme| scheme.signatures.first());
        keyed.is_some_and(|kind| kind.algorithm == Algorithm::HmacSha256)
            && serde_json::from_str::<Value>(&provider.sample.body).is_ok()
    };
    let providers = catalogue::all().iter().filter(fitting);
    providers.map(|provider| provider.name.as_str()).collect()
}

struct Bench {
    verifier: Verifier,
    delivery: Delivery,
}

impl Bench {
    fn new(provider: &Provider, body: Vec<u8>) -> Self {
        let options = provider.sample_options();
        let secret = generate_secret(provider, &[7; 32]);
        let signer = ProviderSigner::new(provider, &secret.signing, &options).unwrap();
        let delivery = signer.sign(Delivery {
            body,
            url: "https://hooks.example.com/in/bench".to_owned(),
            ..sample::of_provider(provider, "evt_1").delivery(NOW)
        });
        let verifier = Verifier::new(&provider.recipe(), &[secret.verifying], &options).unwrap();
        let bench = Bench { verifier, delivery };
        // Only an accepted delivery is measured.
        bench.verify().unwrap();
        bench
    }

    fn verify(&self) -> Result<hapax_verify::Verification, hapax_verify::Rejection> {
        let request = Request::new(&self.delivery.headers, &self.delivery.body, NOW).url(&self.delivery.url);
        self.verifier.verify(black_box(&request))
    }
}

/// The provider's sample, padded to 1 KiB with one more field at its end.
fn padded_sample(provider: &Provider) -> Vec<u8> {
    let body = sample::of_provider(provider, "evt_1").body;
    let text = String::from_utf8(body).unwrap();
    let missing = KIBIBYTE.saturating_sub(text.len() + 16);
    let padded = text
        .strip_suffix('}')
        .map(|open| format!("{open},\"padding\":\"{}\"}}", "x".repeat(missing)));
    padded.unwrap_or(text).into_bytes()
}
