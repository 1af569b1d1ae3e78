//! The `command` destination. Every attempt is made twice.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hapax_config::{CommandEnv, Environment};
use hapax_core::{ErrorClass, Headers, Leased};
use hapax_delivery::destination::{CommandTarget, Destinations};
use hapax_engine::{AttemptResult, Reply, Transport};
use hapax_telemetry::traces::context::{Parent, Propagation};
use hapax_testkit::PATIENCE;

use super::http_destination::delivery;

async fn run_delivery(argv: &[&str], timeout: Duration, delivery: &Leased) -> AttemptResult {
    let target = CommandTarget {
        propagation: Propagation::PassOn,
        env: CommandEnv::usual(&Environment::of_process()),
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        timeout,
    };
    let targets = HashMap::from([("app".into(), Arc::new(target) as Arc<dyn Transport>)]);
    let destinations = Destinations::new(targets);
    let first = destinations.deliver(delivery).await;
    let second = destinations.deliver(delivery).await;
    // The output may differ: the two streams are read concurrently.
    assert_eq!((&first.reply, first.status), (&second.reply, second.status));
    first
}

async fn run(argv: &[&str]) -> AttemptResult {
    run_delivery(argv, Duration::from_secs(20), &delivery()).await
}

async fn shell(script: &str) -> AttemptResult {
    run(&["sh", "-c", script]).await
}

fn class(answer: &AttemptResult) -> ErrorClass {
    match &answer.reply {
        Reply::Failed { class, .. } => *class,
        Reply::Done | Reply::Refused { .. } => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn the_payload_is_on_stdin_and_exit_0_is_done() {
    let answer = run(&["cat"]).await;
    assert_eq!(answer.reply, Reply::Done);
    assert_eq!(answer.status, Some(0));
    assert_eq!(answer.excerpt, "the payload");
}

#[tokio::test]
async fn the_environment_says_which_event_it_is() {
    let delivery = delivery();
    let script = "echo $HAPAX_SOURCE $HAPAX_EVENT_ID $HAPAX_EVENT_TYPE $HAPAX_ID $HAPAX_IDEMPOTENCY_KEY \
                  $HAPAX_ATTEMPT $HAPAX_RECEIVED_AT";
    let answer = run_delivery(&["sh", "-c", script], Duration::from_secs(20), &delivery).await;
    let expected = format!(
        "stripe evt_1 invoice.paid {} {} 1 2026-01-01T00:00:00.000000Z\n",
        delivery.event.id, delivery.idempotency_key
    );
    assert_eq!(answer.excerpt, expected);
}

#[tokio::test]
async fn another_exit_code_is_a_failure_with_the_end_of_the_output() {
    for code in [1, 75, 127] {
        let answer = shell(&format!("seq 1 10000; echo no such order >&2; exit {code}")).await;
        assert_eq!(class(&answer), ErrorClass::Exit);
        assert_eq!(answer.status, Some(code));
        assert!(answer.excerpt.len() <= 1024);
    }
    let answer = shell("echo told; echo on stderr >&2; exit 3").await;
    assert!(
        answer.excerpt.contains("told") && answer.excerpt.contains("on stderr"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_command_that_does_not_read_its_input_is_not_held_up_by_it() {
    let mut large = delivery();
    large.event.body = Bytes::from(vec![b'x'; 4 << 20]);
    let answer = run_delivery(&["true"], Duration::from_secs(20), &large).await;
    assert_eq!(answer.reply, Reply::Done);
    let answer = run_delivery(
        &["sh", "-c", "exec <&-; echo done"],
        Duration::from_secs(20),
        &large,
    )
    .await;
    assert_eq!(answer.reply, Reply::Done);
    assert_eq!(answer.excerpt, "done\n");
}

#[tokio::test]
async fn a_large_payload_goes_in_while_a_large_output_comes_out() {
    let mut large = delivery();
    large.event.body = Bytes::from(vec![b'x'; 4 << 20]);
    let answer = run_delivery(&["cat"], Duration::from_secs(20), &large).await;
    assert_eq!(answer.reply, Reply::Done);
    assert_eq!(answer.excerpt.len(), 1024);
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_a_failure_that_names_it() {
    let answer = run(&["/no/such/command"]).await;
    assert_eq!(class(&answer), ErrorClass::Exit);
    assert_eq!(answer.status, None);
    let Reply::Failed { message, .. } = &answer.reply else {
        panic!("{answer:?}")
    };
    assert!(message.contains("/no/such/command"), "{message}");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_with_what_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let script = format!("sleep 600 & echo $! >> {}; echo begun; wait", pids.display());
    let begun = Instant::now();
    let answer = run_delivery(&["sh", "-c", &script], Duration::from_millis(500), &delivery()).await;
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(class(&answer), ErrorClass::Timeout);
    assert_eq!(answer.excerpt, "begun\n");
    for pid in std::fs::read_to_string(&pids).unwrap().lines() {
        // The kill is sent before the result; the process is gone once the system has acted on it.
        let deadline = Instant::now() + Duration::from_secs(10);
        while is_running(pid) {
            assert!(Instant::now() < deadline, "{pid} still runs");
            tokio::task::yield_now().await;
        }
    }
}

fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    // A zombie that has not been reaped no longer runs.
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    matches!(state, Some(state) if state != 'Z')
}

#[tokio::test]
async fn a_child_that_keeps_the_output_open_does_not_keep_the_attempt_open() {
    let begun = Instant::now();
    let answer = shell("sleep 5 & echo done").await;
    assert_eq!(answer.reply, Reply::Done);
    assert_eq!(answer.excerpt, "done\n");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_command_that_is_killed_from_outside_has_no_exit_code() {
    let answer = shell("kill -9 $$").await;
    assert_eq!(class(&answer), ErrorClass::Exit);
    assert_eq!(answer.status, None);
}

#[tokio::test]
async fn a_command_finds_the_trace_in_its_environment() {
    let said = |answer: AttemptResult| answer.excerpt.trim().to_owned();
    let script = ["sh", "-c", "echo $TRACEPARENT $TRACESTATE"];
    let own = said(run_delivery(&script, PATIENCE, &delivery()).await);
    assert!(Parent::parse(own.as_bytes()).is_some(), "{own}");
    let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut traced = delivery();
    traced.event.headers = Headers::pack([("traceparent", sent.as_bytes()), ("tracestate", b"vendor=1")]);
    let passed = said(run_delivery(&script, PATIENCE, &traced).await);
    assert_eq!(passed, format!("{sent} vendor=1"));
}
