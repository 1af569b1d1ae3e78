//! `hapax verify`: the same result as a service, with the reason.

use std::path::{Path, PathBuf};

use hapax_verify::catalogue;
use hapax_verify::sample;
use hapax_verify::sign::{Delivery, ProviderSigner, generate_secret};

use hapax_testkit::{Outcome, Setup, run};

const NOW: i64 = 1_767_225_600;
const URL: &str = "https://hooks.example.com/in/sample";

/// A signed sample of a provider, and the arguments that pass it to `hapax verify`.
struct Case {
    directory: tempfile::TempDir,
    arguments: Vec<String>,
}

impl Case {
    fn new(provider: &str) -> Self {
        let provider = catalogue::get(provider).unwrap();
        let pair = generate_secret(provider, &[7; 32]);
        let signer = ProviderSigner::new(provider, &pair.signing, &provider.sample_options()).unwrap();
        let delivery = signer.sign(Delivery {
            url: URL.to_owned(),
            ..sample::of_provider(provider, "sample_1").delivery(NOW)
        });
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("body"), &delivery.body).unwrap();
        std::fs::write(directory.path().join("secret"), &pair.verifying).unwrap();
        let mut arguments: Vec<String> = ["verify", &provider.name, "body", "--url", &delivery.url]
            .map(str::to_owned)
            .to_vec();
        arguments.extend(["--now", &NOW.to_string(), "--secret", "file:secret"].map(str::to_owned));
        for (name, value) in &delivery.headers {
            arguments.extend(["--header".to_owned(), format!("{name}: {value}")]);
        }
        for option in &provider.options {
            let sample = option.sample.iter();
            arguments
                .extend(sample.flat_map(|text| ["--option".to_owned(), format!("{}={text}", option.name)]));
        }
        Self { directory, arguments }
    }

    async fn verify(&self, more: &[&str]) -> Outcome {
        let mut arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        arguments.extend(more);
        run(self.directory.path(), &arguments).await
    }
}

#[tokio::test]
async fn a_sample_of_every_provider_is_valid_and_one_that_is_signed_is_refused_without_its_last_byte() {
    for provider in catalogue::all() {
        let case = Case::new(&provider.name);
        let valid = case.verify(&["--json"]).await.json();
        assert_eq!(valid["valid"], true, "{}: {valid:#}", provider.name);
        assert!(!valid["events"].as_array().unwrap().is_empty(), "{valid:#}");
        if valid.to_string().contains("nothing is signed") {
            continue;
        }
        let path = case.directory.path().join("body");
        let mut body = std::fs::read(&path).unwrap();
        body.pop();
        std::fs::write(path, body).unwrap();
        case.verify(&["--json"]).await.assert_code(5);
    }
}

#[tokio::test]
async fn the_steps_the_event_and_the_likely_mistake_are_printed() {
    let case = Case::new("stripe");
    let valid = case.verify(&[]).await;
    valid.assert_code(0);
    for word in ["signature", "ok", "event sample_1", "valid"] {
        assert!(valid.stdout.contains(word), "{word}: {valid:#?}");
    }
    let path = case.directory.path().join("body");
    let body = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{body}\n")).unwrap();
    let refused = case.verify(&[]).await;
    refused.assert_code(5);
    assert!(
        refused.stdout.contains("failed") && refused.stdout.contains("likely: the body was changed"),
        "{refused:#?}"
    );
    let late = case.verify(&["--json", "--older-secret", "whsec_other"]).await;
    assert!(late.stdout.contains("\"likely\""), "{late:#?}");
}

#[tokio::test]
async fn a_source_of_the_configuration_is_taken_and_the_secret_of_another_is_recognised() {
    let setup = Setup::new().source("stripe", "stripe", "").table(
        "[sources.other]\nprovider = \"stripe\"\nsecrets = [\"whsec_of_the_other_source\"]\ndeliver_to = []",
    );
    setup.write();
    let provider = catalogue::get("stripe").unwrap();
    let signer =
        ProviderSigner::new(provider, "whsec_of_the_other_source", &provider.sample_options()).unwrap();
    let delivery = signer.sign(sample::of_provider(provider, "sample_1").delivery(NOW));
    std::fs::write(setup.path().join("body"), &delivery.body).unwrap();
    let signature = delivery
        .headers
        .iter()
        .find(|(name, _)| name == "stripe-signature");
    let header = format!("Stripe-Signature: {}", signature.unwrap().1);
    let now = NOW.to_string();
    for (source, code) in [("other", 0), ("stripe", 5)] {
        let arguments = ["verify", source, "body", "--now", &now, "--header", &header];
        let outcome = run(setup.path(), &arguments).await;
        outcome.assert_code(code);
        let all = format!("{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(all.contains("a secret of the source `other`"), code == 5, "{all}");
        assert!(!all.contains("whsec_of"), "{all}");
    }
}

#[tokio::test]
async fn files_of_vectors_are_run_and_what_is_not_as_it_says_is_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hapax-verify/tests/vectors");
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let mut arguments = vec!["verify", "--json", "--vectors"];
    arguments.extend(files.iter().map(|path| path.to_str().unwrap()));
    let directory = tempfile::tempdir().unwrap();
    let sum = run(directory.path(), &arguments).await.json();
    assert_eq!(sum["files"], files.len());
    assert!(sum["vectors"].as_u64().unwrap() > 100, "{sum:#}");

    let wrong = r#"{"provider": "github", "vectors": [{"name": "mine", "secrets": ["s"], "body": "{}", "now": 1,
        "headers": {}, "valid": true}]}"#;
    std::fs::write(directory.path().join("wrong.json"), wrong).unwrap();
    let failed = run(directory.path(), &["verify", "--vectors", "wrong.json"]).await;
    failed.assert_code(5);
    assert!(
        failed.stdout.contains("wrong.json: mine: ")
            && failed.stdout.contains("1 vectors in 1 files, 1 failed"),
        "{failed:#?}"
    );
}

#[tokio::test]
async fn what_cannot_be_understood_is_a_usage_error_and_what_is_unknown_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("body"), "{}").unwrap();
    run(directory.path(), &["verify", "strpie", "body"])
        .await
        .assert_code(4);
    run(directory.path(), &["verify", "stripe", "body"])
        .await
        .assert_code(2);
    run(directory.path(), &["verify"]).await.assert_code(2);
    let option = ["verify", "stripe", "body", "--secret", "s", "--option", "no=1"];
    run(directory.path(), &option).await.assert_code(2);
}
