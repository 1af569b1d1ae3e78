//! Every vector of every preset: valid ones verify with their id and type, and invalid ones are refused.
//!
//! The vectors next to this file belong to the repository. Vectors published by providers may not be copied here; they
//! are tested if they are found next to the workspace.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hapax_verify::catalogue;
use hapax_verify::sign::generate_secret;
use hapax_verify::vectors::File;
use hapax_verify::{Request, StepOutcome, Verifier};

const OURS: &str = "tests/vectors";
const PUBLISHED: &str = "../../../shared/providers/vectors/published";

fn files(folder: &str) -> Vec<(PathBuf, File)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let file = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (path, file)
    };
    paths.into_iter().map(read).collect()
}

fn failures(folder: &str) -> Vec<String> {
    let mut failures = Vec::new();
    for (path, file) in files(folder) {
        match file.run() {
            Ok(outcomes) => failures.extend(
                outcomes
                    .into_iter()
                    .filter_map(|outcome| Some(format!("{}: {}", outcome.name, outcome.failure?))),
            ),
            Err(error) => failures.push(format!("{}: {error}", path.display())),
        }
    }
    failures
}

#[test]
fn every_vector_of_the_repository_is_judged_as_it_says() {
    assert!(!files(OURS).is_empty());
    assert_eq!(failures(OURS), Vec::<String>::new());
}

#[test]
fn vectors_published_by_the_senders_are_judged_as_they_say() {
    assert_eq!(failures(PUBLISHED), Vec::<String>::new());
}

#[test]
fn every_provider_has_vectors_and_every_file_of_vectors_a_provider() {
    let names: BTreeSet<String> = files(OURS)
        .iter()
        .map(|(path, _)| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let providers: BTreeSet<String> = catalogue::all()
        .iter()
        .map(|provider| provider.name.clone())
        .collect();
    assert_eq!(providers, names);
}

/// If a vector leaves the choice to the receiver, the catalogue contains the choice.
#[test]
fn every_choice_is_made_and_said() {
    for (_, file) in files(OURS).into_iter().chain(files(PUBLISHED)) {
        for vector in file.vectors.iter().filter(|vector| vector.policy.is_some()) {
            let provider = file.provider.as_deref().unwrap();
            let provider = catalogue::get(&provider.replace('_', "-")).unwrap();
            let made = provider.choices.iter().any(|choice| choice.vector == vector.name);
            assert!(made, "{}", vector.name);
        }
    }
}

/// Before the body is read, only requests that no body could make valid are refused, with the same message as
/// afterwards.
#[test]
fn a_head_is_refused_only_where_the_whole_request_is_too() {
    let mut refused = 0;
    for (_, file) in files(OURS).into_iter().chain(files(PUBLISHED)) {
        for vector in &file.vectors {
            let provider = file.provider.as_deref().or(vector.provider.as_deref()).unwrap();
            let provider = catalogue::get(&provider.replace('_', "-")).unwrap();
            let verifier = vector.verifier(provider).unwrap();
            let headers: Vec<(&String, &String)> = vector.headers.iter().collect();
            let head = Request::new(&headers, b"", vector.now)
                .method(&vector.method)
                .url(&vector.url);
            if let Err(rejection) = verifier.check_head(&head) {
                assert_eq!(
                    vector.verification(provider).unwrap_err(),
                    rejection,
                    "{}",
                    vector.name
                );
                assert_eq!(rejection.code(), "signature_missing");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

/// Only four providers have their proof in the body, and one sends an unsigned ping.
#[test]
fn a_head_without_a_proof_is_refused_for_every_other_sender() {
    let let_pass: Vec<&str> = catalogue::all()
        .iter()
        .filter(|provider| {
            let verifier = Verifier::new(
                &provider.recipe(),
                &[generate_secret(provider, &[1; 32]).verifying],
                &provider.sample_options(),
            );
            let none: Vec<(&String, &String)> = Vec::new();
            verifier.unwrap().check_head(&Request::new(&none, b"", 0)).is_ok()
        })
        .map(|provider| provider.name.as_str())
        .collect();
    assert_eq!(
        let_pass,
        ["adyen", "aws-sns", "braintree", "mailgun", "woocommerce"]
    );
}

/// An explanation ends with the same result as verification, and neither it nor a refusal shows a secret.
#[test]
fn explanations_agree_with_verdicts_and_keep_secrets() {
    for (_, file) in files(OURS) {
        for vector in &file.vectors {
            let provider = file.provider.as_deref().or(vector.provider.as_deref()).unwrap();
            let provider = catalogue::get(&provider.replace('_', "-")).unwrap();
            let verifier = vector.verifier(provider).unwrap();
            let (body, keys) = (vector.body(), vector.keys());
            let headers: Vec<(&String, &String)> = vector.headers.iter().collect();
            let request = Request::new(&headers, &body, vector.now)
                .method(&vector.method)
                .url(&vector.url)
                .keys(&keys);
            let steps = verifier.explain(&request);
            let failed = steps.iter().any(|step| step.outcome == StepOutcome::Failed);
            let name = &vector.name;
            assert_eq!(failed, verifier.verify(&request).is_err(), "{name}: {steps:?}");
            for secret in vector.secrets.iter().filter(|secret| secret.len() > 7) {
                assert!(
                    !steps.iter().any(|step| step.detail.contains(secret)),
                    "{name}: {steps:?}"
                );
            }
        }
    }
}
