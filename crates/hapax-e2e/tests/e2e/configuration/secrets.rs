//! Secrets in files, from commands and in `.env`: a change takes effect without a restart and without a signal.

use std::path::Path;
use std::time::Duration;

use hapax_testkit::{Sender, Service, Setup, eventually, run};

const LIMIT: Duration = Duration::from_secs(30);

/// The source `stripe` with this secret.
fn stripe(reference: &str) -> Setup {
    Setup::new().table(&source("stripe", reference))
}

fn source(name: &str, reference: &str) -> String {
    format!("[sources.{name}]\nprovider = \"stripe\"\nsecrets = [\"{reference}\"]\n")
}

fn sender(secret: &str) -> Sender {
    Sender::with_secret("stripe", "stripe", secret)
}

/// A folder as Kubernetes mounts a secret: the file is a link into a folder that is replaced as a whole.
fn mount(folder: &Path, version: &str, secret: &str) {
    let data = folder.join(version);
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("stripe"), secret).unwrap();
    std::os::unix::fs::symlink(version, folder.join("..new")).unwrap();
    std::fs::rename(folder.join("..new"), folder.join("..data")).unwrap();
}

async fn until_accepted(service: &Service, secret: &str, id: &str) {
    eventually("the new secret holds", LIMIT, async || {
        let answer = service.deliver(&sender(secret).event(id)).await;
        answer.is_durable().then_some(())
    })
    .await;
}

async fn until_logged(service: &Service, text: &str) {
    eventually(text, LIMIT, async || service.log().contains(text).then_some(())).await;
}

#[tokio::test]
async fn a_secret_that_is_rotated_in_its_file_takes_effect_by_itself() {
    let setup = stripe("file:mounted/stripe");
    let mounted = setup.path().join("mounted");
    mount(&mounted, "v1", "whsec_first\n");
    std::os::unix::fs::symlink("..data/stripe", mounted.join("stripe")).unwrap();
    let service = setup.start().await;
    let first = sender("whsec_first");
    service.deliver_twice(&first.event("evt_1")).await;

    // An unfinished edit of the configuration is not picked up with it.
    std::fs::write(service.setup.path().join("hapax.toml"), "[sources.half").unwrap();
    mount(&mounted, "v2", "whsec_second\n");
    until_accepted(&service, "whsec_second", "evt_2").await;
    let refused = service.deliver(&first.event("evt_3")).await;
    refused.assert_problem(401, "signature_invalid");
    let known = service.deliver(&sender("whsec_second").event("evt_1")).await;
    known.assert_durable("duplicate");

    mount(&mounted, "v3", "\n");
    until_logged(&service, "the previous one stays in use").await;
    let second = sender("whsec_second");
    service.deliver_twice(&second.event("evt_4")).await;
    mount(&mounted, "v4", "whsec_third\n");
    until_accepted(&service, "whsec_third", "evt_5").await;
    assert!(!service.log().contains("whsec_"), "{}", service.log());
}

#[tokio::test]
async fn a_secret_that_a_command_prints_is_refreshed_and_outlives_the_command() {
    let command = "exec:sh -c 'cat value || { cat private >&2; exit 7; }'";
    let setup = stripe(command).server("secret_refresh = \"1s\"");
    let value = setup.path().join("value");
    std::fs::write(&value, "whsec_first\n").unwrap();
    std::fs::write(setup.path().join("private"), "hunter2").unwrap();
    let service = setup.start().await;
    service.deliver_twice(&sender("whsec_first").event("evt_1")).await;
    std::fs::write(&value, "whsec_second\n").unwrap();
    until_accepted(&service, "whsec_second", "evt_2").await;

    std::fs::remove_file(&value).unwrap();
    until_logged(&service, "its previous value stays in use").await;
    service
        .deliver_twice(&sender("whsec_second").event("evt_3"))
        .await;
    let log = service.log();
    assert!(log.contains("exit status: 7"), "{log}");
    assert!(!log.contains("hunter2") && !log.contains("whsec_"), "{log}");
    let metrics = service.admin("/metrics").await.text();
    assert!(
        metrics.contains("hapax_secret_age_seconds{secret=\"sources.stripe.secrets.0\"} "),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_command_that_gives_no_secret_is_named_when_the_service_starts() {
    for (reference, says) in [
        (
            "exec:no-such-program-anywhere",
            "`no-such-program-anywhere` cannot be started",
        ),
        ("exec:false", "`false` failed (exit status: 1)"),
        ("exec:true", "the secret from exec:true is empty"),
        ("exec:echo $SECRET", "it is not run by a shell"),
    ] {
        let refused = stripe(reference).refusal().await;
        refused.assert_code(3);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("sources.stripe.secrets.0"),
            "{}",
            refused.stderr
        );
    }
}

#[tokio::test]
async fn a_dotenv_beside_the_configuration_adds_variables_that_no_other_process_sees() {
    let setup = stripe("env:STRIPE_SECRET")
        .table(&source("other", "env:OTHER_SECRET"))
        .table(&source(
            "printed",
            "exec:sh -c 'echo whsec_${STRIPE_SECRET:-nothing}'",
        ))
        .before("export OTHER_SECRET=whsec_of_the_process");
    let dotenv = setup.path().join(".env");
    std::fs::write(
        &dotenv,
        "STRIPE_SECRET='whsec_first' # mine\nOTHER_SECRET=whsec_ignored\n",
    )
    .unwrap();
    let service = setup.start().await;
    service.deliver_twice(&sender("whsec_first").event("evt_1")).await;
    for (source, secret) in [("other", "whsec_of_the_process"), ("printed", "whsec_nothing")] {
        let sender = Sender::with_secret("stripe", source, secret);
        service.deliver_twice(&sender.event("evt_1")).await;
    }
    assert!(service.log().contains("variables are also read from .env"));
    std::fs::write(&dotenv, "STRIPE_SECRET=whsec_second\n").unwrap();
    until_accepted(&service, "whsec_second", "evt_2").await;
    assert!(!service.log().contains("whsec_"), "{}", service.log());
}

#[tokio::test]
async fn a_dotenv_with_a_mistake_is_refused_with_its_line_and_without_its_value() {
    let setup = stripe("env:STRIPE_SECRET");
    setup.write();
    std::fs::write(setup.path().join(".env"), "A=1\nSTRIPE_SECRET='hunter2\n").unwrap();
    for verb in [&["config", "check"][..], &["serve"]] {
        let refused = run(setup.path(), verb).await;
        refused.assert_code(3);
        assert!(refused.stderr.contains(".env:2:1"), "{}", refused.stderr);
        assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    }
}
