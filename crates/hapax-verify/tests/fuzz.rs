//! Fuzzing: the vectors are mutated and recombined. Verification never panics, and signed content cannot be changed.
//! Takes a few seconds here; `HAPAX_FUZZ_CASES=1000000 ./test fuzz` runs longer.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

#[path = "fuzz/mutation.rs"]
mod mutation;
#[path = "fuzz/seeds.rs"]
mod seeds;

use std::collections::BTreeMap;
use std::ops::Range;

use hapax_verify::vectors::File;
use hapax_verify::{EventBody, Request, StepOutcome, Verification};
use mutation::{Mutation, mutations};
use proptest::prelude::*;
use proptest::sample::Index;
use seeds::{Draft, Seed, seeds};

/// How many requests each test tries, unless `HAPAX_FUZZ_CASES` overrides it: a few seconds' worth.
const CASES_DEFAULT: u32 = 2_000;

#[expect(clippy::disallowed_methods, reason = "tests have variables of their own")]
fn config() -> ProptestConfig {
    let cases = std::env::var("HAPAX_FUZZ_CASES").ok();
    let cases = cases.map_or(CASES_DEFAULT, |text| text.parse().unwrap());
    ProptestConfig {
        cases,
        max_global_rejects: cases.saturating_mul(16),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn seed() -> impl Strategy<Value = &'static Seed> {
    any::<Index>().prop_map(|index| &seeds()[index.index(seeds().len())])
}

fn mutated(seed: &Seed, steps: &[Mutation]) -> Draft {
    let mut draft = seed.draft.clone();
    for step in steps {
        step.apply(&mut draft);
    }
    draft
}

fn with_key() -> impl Strategy<Value = &'static Seed> {
    let all: Vec<&'static Seed> = seeds().iter().filter(|seed| !seed.keys.is_empty()).collect();
    proptest::sample::select(all)
}

/// Mutates a key as if it were the body of a request.
fn mutated_key(key: &[u8], steps: &[Mutation]) -> Vec<u8> {
    let mut draft = Draft {
        method: String::new(),
        url: String::new(),
        headers: Vec::new(),
        body: key.to_vec(),
        received_at: 0,
    };
    for step in steps {
        step.apply(&mut draft);
    }
    draft.body
}

fn ranges(body: &EventBody) -> Vec<Range<usize>> {
    match body {
        EventBody::Whole => Vec::new(),
        EventBody::Part(range) => vec![range.clone()],
        EventBody::Pieces(ranges) => ranges.clone(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_mutated_request_makes_a_verifier_panic_or_contradict_itself(seed in seed(), steps in mutations()) {
        let draft = mutated(seed, &steps);
        let request = draft.request(seed);
        let verification = seed.verifier.verify(&request);
        let explained = seed.verifier.explain(&request);
        let failed = explained.iter().any(|step| step.outcome == StepOutcome::Failed);
        prop_assert_eq!(failed, verification.is_err(), "{:?}", explained);
        if let Ok(Verification::Events(events)) = &verification {
            for event in events {
                prop_assert!(event.event_id.len() <= hapax_verify::limits::EVENT_ID_BYTES_MAX);
            }
        }
    }

    #[test]
    fn no_mutated_request_makes_a_diagnosis_panic_or_show_a_secret(seed in seed(), steps in mutations()) {
        let draft = mutated(seed, &steps);
        if let Some(mistake) = seed.verifier.diagnose(&draft.request(seed), &[]) {
            let text = format!("{mistake} {mistake:?}");
            for secret in seed.secrets.iter().filter(|secret| secret.len() > 8) {
                prop_assert!(!text.contains(secret), "{}", text);
            }
        }
    }

    #[test]
    fn a_body_that_is_signed_and_changed_never_becomes_an_event(seed in seed(), steps in mutations()) {
        // The body of a forged vector may be mutated back into the genuine one.
        prop_assume!(seed.signs_body && seed.verifier.verify(&seed.draft.request(seed)).is_ok());
        let draft = Draft { body: mutated(seed, &steps).body, ..seed.draft.clone() };
        prop_assume!(draft.body != seed.draft.body);
        prop_assert!(!matches!(seed.verifier.verify(&draft.request(seed)), Ok(Verification::Events(_))));
    }

    #[test]
    fn nothing_that_a_genuine_sender_signs_makes_a_verifier_panic(seed in seed(), steps in mutations()) {
        let willing = seed.willing();
        let delivery = willing.sign(&mutated(seed, &steps));
        let request = Request::new(&delivery.headers, &delivery.body, delivery.timestamp)
            .method(&delivery.method)
            .url(&delivery.url);
        let verification = willing.verifier.verify(&request);
        let explained = willing.verifier.explain(&request);
        let failed = explained.iter().any(|step| step.outcome == StepOutcome::Failed);
        prop_assert_eq!(failed, verification.is_err(), "{:?}", explained);
        if let Ok(Verification::Events(events)) = &verification {
            for event in events {
                prop_assert!(event.event_id.len() <= hapax_verify::limits::EVENT_ID_BYTES_MAX);
                for range in ranges(&event.body) {
                    prop_assert!(delivery.body.get(range.clone()).is_some(), "{:?}", range);
                }
            }
        }
    }

    #[test]
    fn no_answer_to_a_question_for_a_key_makes_a_verifier_panic(seed in with_key(), steps in mutations()) {
        let mutate = |key: &Vec<u8>| mutated_key(key, &steps);
        let keys: BTreeMap<String, Vec<u8>> = seed.keys.iter().map(|(id, key)| (id.clone(), mutate(key))).collect();
        let request = seed.draft.request(seed).keys(&keys);
        let explained = seed.verifier.explain(&request);
        let failed = explained.iter().any(|step| step.outcome == StepOutcome::Failed);
        prop_assert_eq!(failed, seed.verifier.verify(&request).is_err(), "{:?}", explained);
    }

    #[test]
    fn a_signature_of_another_sender_proves_nothing(seed in seed(), other in seed()) {
        prop_assume!(seed.signs_body && !shares_secret(seed, other) && seed.draft.body != other.draft.body);
        let draft = Draft { headers: other.draft.headers.clone(), ..seed.draft.clone() };
        prop_assert!(!matches!(seed.verifier.verify(&draft.request(seed)), Ok(Verification::Events(_))));
    }

    #[test]
    fn no_text_makes_the_reader_of_vectors_panic(text in "[\\[\\]{}:,\"a-z0-9 ]{0,120}") {
        if let Ok(file) = serde_json::from_str::<File>(&text) {
            let _ = file.run();
        }
    }
}

fn shares_secret(one: &Seed, other: &Seed) -> bool {
    one.secrets.iter().any(|secret| other.secrets.contains(secret))
}

/// A fuzzer whose seeds are refused before anything is parsed would find nothing.
#[test]
fn most_seeds_reach_the_end_unchanged() {
    let accepted = seeds()
        .iter()
        .filter(|seed| seed.verifier.verify(&seed.draft.request(seed)).is_ok());
    let signed = seeds().iter().filter(|seed| seed.signs_body).count();
    let signed_anew = seeds().iter().filter(|seed| {
        let delivery = seed.willing().sign(&seed.draft);
        let request = Request::new(&delivery.headers, &delivery.body, delivery.timestamp).url(&delivery.url);
        seed.willing().verifier.verify(&request).is_ok()
    });
    assert!(accepted.count() * 4 >= seeds().len());
    assert!(signed * 4 >= seeds().len());
    assert!(signed_anew.count() * 2 >= seeds().len());
}
