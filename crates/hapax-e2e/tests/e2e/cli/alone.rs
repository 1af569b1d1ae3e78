//! Commands that need no service: `init`, `config`, `completions`, `man`, `providers`, `--help`.

use hapax_testkit::{Sender, Setup, run};

#[tokio::test]
async fn init_writes_a_configuration_that_check_accepts_and_never_overwrites_it() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), &["init"]).await.assert_code(0);
    let written = std::fs::read_to_string(directory.path().join("hapax.toml")).unwrap();
    assert!(written.contains('#') && written.contains("[server]"), "{written}");
    run(directory.path(), &["config", "check"]).await.assert_code(0);

    let again = run(directory.path(), &["init"]).await;
    assert_ne!(again.code, Some(0));
    assert!(again.stderr.contains("hapax.toml"), "{again:#?}");
    assert_eq!(
        std::fs::read_to_string(directory.path().join("hapax.toml")).unwrap(),
        written
    );
}

#[tokio::test]
async fn config_show_has_every_value_and_no_secret() {
    let setup = Setup::new()
        .server("admin_token = \"hunter2-is-the-token\"")
        .table("[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"whsec_hidden_thing\"]\ndeliver_to = [\"app\"]")
        .http("app", "http://user:pass-hidden@127.0.0.1:9/hook", "secret = \"whsec_aGlkZGVuLWRlc3RpbmF0aW9uLXNlY3JldCE=\"");
    setup.write();
    for arguments in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["config", "check"],
    ] {
        let shown = run(setup.path(), arguments).await;
        let all = format!("{}{}", shown.stdout, shown.stderr);
        for secret in ["hunter2", "whsec_hidden_thing", "aGlkZGVu", "pass-hidden"] {
            assert!(
                !all.contains(secret),
                "{secret} is in the output of {arguments:?}: {all}"
            );
        }
    }
    let setup = Setup::new().source("stripe", "stripe", "");
    setup.write();
    let shown = run(setup.path(), &["config", "show", "--json"]).await.json();
    assert!(
        shown.to_string().contains("30d"),
        "defaults are shown too: {shown}"
    );
    let checked = run(setup.path(), &["config", "check", "--json"]).await.json();
    assert_eq!((&checked["ok"], &checked["sources"]), (&true.into(), &1.into()));
}

#[tokio::test]
async fn what_config_show_prints_is_a_configuration_again() {
    let setup =
        Setup::new().table("[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"env:HAPAX_E2E_STRIPE\"]\n");
    let service = setup
        .before("export HAPAX_E2E_STRIPE=whsec_from_the_environment")
        .start()
        .await;
    let delivery = Sender::with_secret("stripe", "stripe", "whsec_from_the_environment").event("evt_1");
    service.deliver_twice(&delivery).await;
    let missing = service.hapax(&["config", "check"]).await;
    missing.assert_code(3);
    assert!(
        missing.stderr.contains("HAPAX_E2E_STRIPE"),
        "it names the variable: {missing:#?}"
    );
}

#[tokio::test]
async fn a_problem_code_is_explained_without_a_service() {
    let directory = tempfile::tempdir().unwrap();
    let page = run(directory.path(), &["explain", "signature_invalid"]).await;
    page.assert_code(0);
    assert!(page.stdout.starts_with("# signature_invalid\n"), "{page:#?}");
    let listed = run(directory.path(), &["explain", "--json"]).await.json();
    let codes = listed["codes"].as_array().unwrap();
    assert!(
        codes
            .iter()
            .any(|line| line["code"] == "signature_invalid" && line["status"] == 401)
    );
    let old = run(directory.path(), &["explain", "replay_over"]).await;
    old.assert_code(4);
    assert!(
        old.stderr.contains("`replay_over` is now `replay_finished`"),
        "{old:#?}"
    );
    let completions = run(directory.path(), &["completions", "bash"]).await;
    assert!(completions.stdout.contains("signature_invalid"));
}

#[tokio::test]
async fn completions_manual_providers_and_help_are_printed() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let printed = run(directory.path(), &["completions", shell]).await;
        printed.assert_code(0);
        assert!(
            printed.stdout.contains("hapax") && printed.stdout.contains("replay"),
            "{shell}"
        );
    }
    let manual = run(directory.path(), &["man"]).await;
    manual.assert_code(0);
    assert!(manual.stdout.contains(".TH"), "{}", manual.stdout);
    let providers = run(directory.path(), &["providers"]).await;
    providers.assert_code(0);
    for name in ["stripe", "github", "standard-webhooks"] {
        assert!(providers.stdout.contains(name), "{providers:#?}");
    }
    run(directory.path(), &["providers", "stripe", "--json"])
        .await
        .json();
    run(directory.path(), &["providers", "strpie"])
        .await
        .assert_code(4);
    for verb in [
        "serve", "send", "events", "replay", "dead", "forget", "pause", "resume", "stats", "bench", "doctor",
        "demo", "dev", "init", "config",
    ] {
        let help = run(directory.path(), &[verb, "--help"]).await;
        help.assert_code(0);
        assert!(
            help.stdout.contains("Example"),
            "{verb} --help has an example: {}",
            help.stdout
        );
    }
}

#[tokio::test]
async fn doctor_does_not_expect_a_public_key_to_sign() {
    let setup = Setup::new()
        .table(
            "[sources.signed]\nprovider = \"standard-webhooks\"\nsecrets = [\
             \"whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\", \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]",
        )
        .table(
            "[sources.fetched]\nprovider = \"aws-sns\"\noptions = { topic_arns = [\"arn:aws:sns:us-east-1:1:orders\"] }",
        );
    setup.write();
    let found = run(setup.path(), &["doctor"]).await;
    for source in ["signed", "fetched"] {
        let line = format!("ok    source {source}: ");
        assert!(found.stdout.contains(&line), "{found:#?}");
    }
}
