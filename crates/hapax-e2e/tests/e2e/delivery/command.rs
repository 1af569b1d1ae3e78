//! A `command` destination: payload on stdin, metadata in the environment, exit code 0 means success.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use hapax_testkit::{Sender, Service, Setup};

const LIMIT: Duration = Duration::from_secs(20);

async fn service_with(script: &str, lines: &str) -> Service {
    let setup = Setup::new().source("github", "github", "deliver_to = [\"script\"]");
    let path = setup.path().join("on-event.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let table = "[destinations.script]\nkind = \"command\"\ncommand = [\"./on-event.sh\", \"an argument\"]\n\
                 backoff = { first = \"50ms\", cap = \"100ms\" }\n";
    setup.table(&format!("{table}{lines}")).start().await
}

#[tokio::test]
async fn a_command_gets_the_body_and_the_facts_once() {
    let service = service_with(
        "cat > \"body.$HAPAX_EVENT_ID\"; env > environment; echo \"$1\" >> arguments",
        "",
    )
    .await;
    let body: Vec<u8> = (0..=255_u8).collect();
    let id = service
        .deliver_twice(&Sender::of("github").with_body("guid-1", body.clone()))
        .await;
    service.until_event_is(&id, "completed", LIMIT).await;
    let read = |name: &str| std::fs::read(service.setup.path().join(name)).unwrap();
    assert_eq!(read("body.guid-1"), body);
    assert_eq!(read("arguments"), b"an argument\n");
    let environment = String::from_utf8(read("environment")).unwrap();
    for name in [
        "HAPAX_SOURCE=github",
        "HAPAX_EVENT_ID=guid-1",
        "HAPAX_ATTEMPT=1",
        "HAPAX_IDEMPOTENCY_KEY=",
    ] {
        assert!(
            environment.lines().any(|line| line.starts_with(name)),
            "{name} is not in\n{environment}"
        );
    }
}

#[tokio::test]
async fn a_command_that_fails_is_run_again_with_the_same_key_and_its_words_are_kept() {
    let script =
        "echo \"$HAPAX_IDEMPOTENCY_KEY\" >> keys; echo 'no luck today' >&2; [ \"$(wc -l < keys)\" -ge 3 ]";
    let service = service_with(script, "").await;
    let id = service.deliver_twice(&Sender::of("github").event("guid-1")).await;
    let event = service.until_event_is(&id, "completed", LIMIT).await;
    let keys = std::fs::read_to_string(service.setup.path().join("keys")).unwrap();
    let keys: Vec<&str> = keys.lines().collect();
    assert_eq!(keys.len(), 3);
    assert!(
        keys.iter().all(|key| *key == keys[0] && !key.is_empty()),
        "{keys:?}"
    );
    assert_eq!(event["attempts"][0]["status"], 1, "{event}");
    assert!(
        event["attempts"][0].to_string().contains("no luck today"),
        "{event}"
    );
}

#[tokio::test]
async fn a_command_that_hangs_is_killed_at_its_timeout() {
    let script = "echo $$ >> pids; [ \"$(wc -l < pids)\" -ge 2 ] || exec sleep 1000";
    let service = service_with(script, "timeout = \"500ms\"").await;
    let id = service.deliver_twice(&Sender::of("github").event("guid-1")).await;
    service.until_event_is(&id, "completed", LIMIT).await;
    let pids = std::fs::read_to_string(service.setup.path().join("pids")).unwrap();
    let first = pids.lines().next().unwrap();
    hapax_testkit::eventually("the first run is gone", LIMIT, async || {
        (!std::path::Path::new(&format!("/proc/{first}")).exists()).then_some(())
    })
    .await;
}
