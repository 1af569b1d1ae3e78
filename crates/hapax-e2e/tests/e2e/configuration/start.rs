//! Configurations that `serve` refuses to start with.

use hapax_testkit::{Sender, Setup, free_address, run};

#[tokio::test]
async fn an_unknown_key_is_refused_with_line_column_and_the_nearest_known_key() {
    let setup = Setup::new().table("[sources.stripe]\nprovider = \"stripe\"\nsecretz = [\"whsec_x\"]\n");
    let refused = setup.refusal().await;
    refused.assert_code(3);
    let text = std::fs::read_to_string(setup.path().join("hapax.toml")).unwrap();
    let line = 1 + text.lines().position(|line| line.starts_with("secretz")).unwrap();
    assert!(
        refused.stderr.contains(&format!("hapax.toml:{line}:1")),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("secretz") && refused.stderr.contains("`secrets`"),
        "{}",
        refused.stderr
    );
    assert!(
        !refused.stderr.contains("whsec_x"),
        "a secret is never printed: {}",
        refused.stderr
    );
    assert!(
        !setup.store_path().exists(),
        "nothing is created for a configuration that is refused"
    );

    let checked = run(setup.path(), &["config", "check"]).await;
    checked.assert_code(3);
    assert!(
        checked.stderr.contains(&format!("hapax.toml:{line}:1")),
        "{}",
        checked.stderr
    );
}

#[tokio::test]
async fn text_that_is_no_toml_is_refused_with_its_place() {
    let setup = Setup::new().table("[sources.stripe\nprovider = 1");
    let refused = setup.refusal().await;
    refused.assert_code(3);
    assert!(refused.stderr.contains("hapax.toml:"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_missing_file_is_refused_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let refused = run(directory.path(), &["serve"]).await;
    refused.assert_code(3);
    assert!(
        refused.stderr.contains("hapax.toml") && refused.stderr.contains("hapax init"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn a_destination_that_does_not_exist_is_refused_with_the_nearest_one() {
    let setup = Setup::new().source("stripe", "stripe", "deliver_to = [\"biling\"]");
    let refused = setup.http("billing", "http://127.0.0.1:9/", "").refusal().await;
    refused.assert_code(3);
    assert!(
        refused.stderr.contains("biling") && refused.stderr.contains("`billing`"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn a_taken_port_is_refused_with_its_address_and_the_first_service_goes_on() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    for taken in [service.setup.listen, service.setup.admin] {
        let mut second = Setup::new().source("stripe", "stripe", "");
        if taken == service.setup.listen {
            second.listen = taken;
        } else {
            second.admin = taken;
        }
        let refused = second.refusal().await;
        refused.assert_code(1);
        assert!(refused.stderr.contains(&taken.to_string()), "{}", refused.stderr);
        service
            .deliver_twice(&Sender::of("stripe").event(&format!("evt_{}", taken.port())))
            .await;
    }
}

#[tokio::test]
async fn an_admin_port_open_to_others_needs_a_token() {
    let mut setup = Setup::new().source("stripe", "stripe", "");
    setup.admin = ([0, 0, 0, 0], free_address().port()).into();
    let refused = setup.refusal().await;
    refused.assert_code(3);
    assert!(refused.stderr.contains("admin_token"), "{}", refused.stderr);
}

#[tokio::test]
async fn with_a_token_the_api_is_closed_to_those_without_it() {
    let service = Setup::new()
        .server("admin_token = \"correct-horse-battery-staple\"")
        .source("stripe", "stripe", "")
        .start()
        .await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    service
        .admin("/api/v1/events")
        .await
        .assert_problem(401, "unauthorized");
    assert_eq!(service.admin("/metrics").await.status, 200);

    let listed = service.hapax(&["events", "list", "--json"]).await;
    assert_eq!(
        listed.json()["events"].as_array().unwrap().len(),
        1,
        "the CLI takes the token from the configuration"
    );
    let refused = service.hapax(&["--token", "wrong", "events", "list"]).await;
    refused.assert_code(1);
    assert!(
        refused.stderr.contains("token") && !refused.stderr.contains("staple"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn the_environment_wins_over_the_file() {
    let setup = Setup::new().source("stripe", "stripe", "");
    let address = free_address();
    setup.write();
    let shown = run(setup.path(), &["config", "show", "--json"]).await;
    assert!(shown.stdout.contains(&setup.listen.to_string()), "{shown:#?}");
    let service = setup
        .before(&format!("export HAPAX_SERVER__LISTEN={address}"))
        .start()
        .await;
    let mut connection = hapax_testkit::Connection::to(address);
    let delivery = Sender::of("stripe").event("evt_1");
    connection.deliver(&delivery).await.assert_durable("accepted");
    connection.deliver(&delivery).await.assert_durable("duplicate");
    drop(service);
}
