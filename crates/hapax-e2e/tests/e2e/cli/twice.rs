//! `hapax twice`: its output, its files and its exit codes, against correct and faulty handlers.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use handlers_axum::Version;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use hapax_testkit::{Outcome, command_in, run};

const SECRET: &str = "whsec_e2e_twice";
const BANK_TAKES: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_handler_passes_and_a_racing_one_is_found_out_with_exit_code_5() {
    let folder = tempfile::tempdir().unwrap();
    let plans = ["--plan", "again", "--plan", "concurrent:4", "--plan", "tampered"];
    let right = twice(folder.path(), Version::Right, SECRET, &plans).await;
    right.assert_code(0);
    assert!(right.stdout.contains("No fault found in 3 tries."), "{right:#?}");

    let flawed = twice(folder.path(), Version::CheckThenAct, SECRET, &plans).await;
    flawed.assert_code(5);
    for text in [
        "concurrent:4  sample  FAILED",
        "    - balance ",
        "    + payment <id> 2000",
        "To do: Insert",
    ] {
        assert!(flawed.stdout.contains(text), "{text}: {flawed:#?}");
    }
    assert!(!format!("{right:?}{flawed:?}").contains(SECRET));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_get_the_same_as_json_and_as_junit() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--plan", "concurrent:4", "--json", "--junit", "twice.xml"];
    let flawed = twice(folder.path(), Version::CheckThenAct, SECRET, &flags).await;
    flawed.assert_code(5);
    let report: Value = serde_json::from_str(&flawed.stdout).unwrap();
    let result = &report["results"][0];
    assert_eq!(
        (&result["plan"], &result["outcome"], &result["kind"]),
        (&"concurrent:4".into(), &"failed".into(), &"doubled".into())
    );
    let junit = std::fs::read_to_string(folder.path().join("twice.xml")).unwrap();
    assert!(
        junit.contains("failures=\"1\"") && junit.contains("<failure"),
        "{junit}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_tested_is_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let refused = twice(folder.path(), Version::Right, "whsec_other", &["--plan", "again"]).await;
    refused.assert_code(1);
    assert!(
        refused.stderr.contains("Check the URL and the secret"),
        "{refused:#?}"
    );
    let unknown = twice(folder.path(), Version::Right, SECRET, &["--plan", "thrice"]).await;
    unknown.assert_code(2);
    assert!(
        unknown.stderr.contains("there is no plan `thrice`"),
        "{unknown:#?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_shows_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(folder.path(), Version::Right).await;
    let flags = [
        "twice",
        "run",
        "--to",
        &url,
        "--provider",
        "stripe",
        "--secret",
        SECRET,
        "--snapshot",
        "echo 1",
    ];
    let blind = run(folder.path(), &flags).await;
    blind.assert_code(1);
    assert!(blind.stderr.contains("no event changed anything"), "{blind:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_proxy_repeats_a_post_and_ends_with_5_where_the_copy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    let called = Arc::clone(&calls);
    let handler = move || {
        let first = called.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                StatusCode::OK
            } else {
                StatusCode::CONFLICT
            }
        }
    };
    let to = listen(Router::new().route("/webhooks", post(handler))).await;
    let mut proxy = command_in(folder.path())
        .args(["twice", "proxy", "--listen", "127.0.0.1:0", "--to", &to])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut talk = BufReader::new(proxy.stderr.take().unwrap()).lines();
    let line = talk.next_line().await.unwrap().unwrap();
    let url = format!("http://{}/webhooks", line.strip_prefix("listening on ").unwrap());
    run(
        folder.path(),
        &["send", "stripe", "--to", &url, "--secret", SECRET],
    )
    .await
    .assert_code(0);
    assert_eq!(calls.load(Ordering::SeqCst), 2);

    kill_process(Pid::from_raw(proxy.id().unwrap() as i32).unwrap(), Signal::TERM).unwrap();
    let output = proxy.wait_with_output().await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(5), "{printed}");
    assert!(printed.contains("POST /webhooks: answered 200, 409"), "{printed}");
}

async fn twice(folder: &Path, version: Version, secret: &str, flags: &[&str]) -> Outcome {
    let url = serve(folder, version).await;
    let state = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/handlers/state");
    let snapshot = format!("{state} shop.db");
    let mut arguments = vec![
        "twice",
        "run",
        "--to",
        &url,
        "--provider",
        "stripe",
        "--secret",
        secret,
    ];
    arguments.extend(["--snapshot", &snapshot, "--settle", "100ms"]);
    arguments.extend(flags);
    run(folder, &arguments).await
}

async fn serve(folder: &Path, version: Version) -> String {
    let router = handlers_axum::router(version, &folder.join("shop.db"), SECRET, BANK_TAKES).unwrap();
    format!("{}/webhooks", listen(router).await)
}

async fn listen(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}
