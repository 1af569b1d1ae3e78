//! Conventions of every command: exit codes, colours, pipes, and which output goes to stdout or stderr.

use std::process::Stdio;

use hapax_testkit::{Sender, Setup, command_in, run};

#[tokio::test]
async fn wrong_usage_ends_with_2_and_no_configuration_with_3() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["no-such-verb"][..],
        &["events"],
        &["serve", "--no-such-flag"],
        &["send"],
        &["replay"],
        &["completions", "tcl"],
    ] {
        let refused = run(directory.path(), arguments).await;
        refused.assert_code(2);
        assert!(
            refused.stdout.is_empty() && !refused.stderr.is_empty(),
            "{refused:#?}"
        );
    }
    for arguments in [&["serve"][..], &["config", "check"], &["config", "show"]] {
        run(directory.path(), arguments).await.assert_code(3);
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_ends_with_1_and_its_address() {
    let setup = Setup::new().source("stripe", "stripe", "");
    setup.write();
    for arguments in [
        &["events", "list"][..],
        &["stats"],
        &["dead", "list"],
        &["pause", "app"],
    ] {
        let failed = run(setup.path(), arguments).await;
        failed.assert_code(1);
        assert!(failed.stderr.contains(&setup.admin.to_string()), "{failed:#?}");
    }
}

#[tokio::test]
async fn output_to_a_pipe_has_no_colours_unless_asked_for_and_no_color_wins() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let colourful =
        |output: &std::process::Output| output.stdout.contains(&0x1b) || output.stderr.contains(&0x1b);
    for arguments in [
        &["events", "list"][..],
        &["stats"],
        &["dead", "list"],
        &["events", "show", "no-uuid"],
        &["nonsense"],
    ] {
        let output = command_in(service.setup.path())
            .args(arguments)
            .output()
            .await
            .unwrap();
        assert!(!colourful(&output), "{arguments:?} {output:?}");
        let output = command_in(service.setup.path())
            .args(arguments)
            .env("NO_COLOR", "1")
            .output()
            .await
            .unwrap();
        assert!(!colourful(&output), "{arguments:?} {output:?}");
    }
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_failure() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    let sender = Sender::of("stripe");
    for number in 0..200 {
        service
            .deliver_twice(&sender.event(&format!("evt_{number}_{}", "x".repeat(200))))
            .await;
    }
    let mut list = command_in(service.setup.path())
        .args(["events", "list", "--json", "--limit", "200"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(list.stdout.take());
    let output = list.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[tokio::test]
async fn the_address_and_token_come_from_flags_or_variables_as_well() {
    let service = Setup::new()
        .server("admin_token = \"a-token-of-some-length\"")
        .source("stripe", "stripe", "")
        .start()
        .await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let admin = format!("http://{}", service.setup.admin);
    let by_flag = [
        "--admin",
        &admin,
        "--token",
        "a-token-of-some-length",
        "events",
        "list",
        "--json",
    ];
    assert_eq!(
        run(elsewhere.path(), &by_flag).await.json()["events"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let output = command_in(elsewhere.path())
        .args(["events", "list", "--json"])
        .env("HAPAX_ADMIN_URL", &admin)
        .env("HAPAX_ADMIN_TOKEN", "a-token-of-some-length")
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
