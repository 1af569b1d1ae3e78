//! Every vector of every preset: what is valid verifies with its id and type, and what is not is refused for its reason.
//!
//! The vectors beside this file belong to the repository. Those that senders publish themselves are not ours to copy;
//! they are tried where they lie beside the workspace.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::path::{Path, PathBuf};

use base64::Engine as _;
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::{Request, StepOutcome, Verdict, Verifier};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    secrets: Vec<String>,
    public_keys: Vec<String>,
    method: String,
    url: String,
    headers: std::collections::BTreeMap<String, String>,
    body: Option<String>,
    body_base64: Option<String>,
    now: i64,
    valid: bool,
    expected_event_id: Option<String>,
    expected_event_type: Option<String>,
    ref_reason: String,
}

#[test]
fn every_vector_of_the_repository_is_judged_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    for provider in catalogue::all() {
        let path = folder.join(format!("{}.json", provider.name));
        assert!(run(provider, &path) > 0, "{} has no vectors", provider.name);
    }
}

#[test]
fn vectors_published_by_the_senders_are_judged_as_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/providers/vectors/published");
    for provider in catalogue::all() {
        let path = folder.join(format!("{}.json", provider.name.replace('-', "_")));
        if path.exists() {
            run(provider, &path);
        }
    }
}

fn run(provider: &Provider, path: &PathBuf) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let file: File = serde_json::from_str(&text).unwrap();
    for vector in &file.vectors {
        judge(provider, vector);
    }
    file.vectors.len()
}

fn judge(provider: &Provider, vector: &Vector) {
    let secrets: Vec<&String> = vector.secrets.iter().chain(&vector.public_keys).collect();
    let verifier = Verifier::new(provider.scheme.clone(), provider.identity.clone(), &secrets).unwrap();
    let body = match (&vector.body, &vector.body_base64) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(text)) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
        (None, None) => Vec::new(),
    };
    let headers: Vec<(&String, &String)> = vector.headers.iter().collect();
    let request = Request {
        method: &vector.method,
        url: &vector.url,
        headers: &headers,
        body: &body,
        received_at: vector.now,
    };
    let name = &vector.name;
    let result = verifier.verify(&request);

    let failed = verifier
        .explain(&request)
        .iter()
        .any(|step| step.outcome == StepOutcome::Failed);
    assert_eq!(failed, result.is_err(), "{name}: explain and verify disagree");

    match (&result, &vector.expected_event_id) {
        (Ok(Verdict::Events(events)), Some(expected)) if vector.valid => {
            assert_eq!(events[0].event_id, *expected, "{name}");
            assert_eq!(events[0].event_type, vector.expected_event_type, "{name}");
        }
        // A published signature without an id beside it: the signature is right, and the delivery cannot be told apart.
        (Err(rejection), None) if vector.valid => {
            assert_eq!(rejection.code(), "event_id_missing", "{name}");
        }
        (Err(rejection), _) if !vector.valid => {
            assert_eq!(
                rejection.code(),
                code_of(&vector.ref_reason),
                "{name}: {rejection}"
            );
            assert_eq!(rejection.status(), 401, "{name}");
            for secret in secrets {
                assert!(!rejection.to_string().contains(secret.as_str()), "{name}");
            }
        }
        (other, _) => panic!("{name}: {other:?}"),
    }
}

fn code_of(reason: &str) -> &'static str {
    match reason {
        // A timestamp that is no number is not what was signed, so the signature is already wrong.
        "mismatch" | "bad_format" | "no_signature_of_known_scheme" | "bad_timestamp" => "signature_invalid",
        "missing_signature" | "missing_header" => "signature_missing",
        "stale" => "timestamp_out_of_range",
        other => panic!("no code for {other}"),
    }
}
