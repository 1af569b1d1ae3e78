//! `hapax bench --growth` at its smallest size: it finds every stored event again, and leaves nothing behind.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use hapax_testkit::{PATIENCE, command_in, within};

/// It stores, sends and delivers tens of thousands of events with a binary that is not optimised.
const LIMIT: Duration = Duration::from_secs(200);

const GROWTH: [&str; 9] = [
    "bench",
    "--quick",
    "--growth",
    "--events",
    "10000",
    "--dir",
    ".",
    "--store",
    "sqlite:big.db",
];

#[tokio::test]
async fn growth_is_measured_and_its_store_is_removed() {
    // On a disk: the folder for temporary files may be in memory.
    let directory = tempfile::tempdir_in(".").unwrap();
    let output = command_in(directory.path()).args(GROWTH).arg("--json").output();
    let output = within("growth is measured", LIMIT, output).await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["problems"], serde_json::json!([]));
    let [stage] = results["stages"].as_array().unwrap().as_slice() else {
        panic!("{results}");
    };
    assert_eq!(stage["entries"], 10_000);
    for rate in ["new", "cold_duplicates", "delivered", "purged"] {
        let number = |value: &serde_json::Value| value.as_f64().is_some_and(|number| number > 0.0);
        assert!(number(&stage[rate]["per_second"]), "{rate}: {stage}");
        assert!(number(&stage[rate]["processor_us"]["service"]), "{rate}: {stage}");
        assert!(
            stage[rate]["processor_us"]["database"].is_null(),
            "{rate}: {stage}"
        );
    }
    // Bodies have 1,024 bytes, and an event has more than its body.
    assert!(stage["bytes_per_event"].as_f64().unwrap() > 1_024.0, "{stage}");
    assert_empty(directory.path());
}

#[tokio::test]
async fn growth_that_is_interrupted_removes_its_store_too() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let mut child = command_in(directory.path())
        .args(GROWTH)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let begins = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("growing the store") {
                return;
            }
        }
        panic!("it ended before it began");
    };
    within("the store grows", LIMIT, begins).await;
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let rest = async { while lines.next_line().await.unwrap().is_some() {} };
    within("its messages end", PATIENCE, rest).await;
    let status = within("it ends", PATIENCE, child.wait()).await.unwrap();
    assert!(!status.success());
    assert_empty(directory.path());
}

fn assert_empty(directory: &Path) {
    let left: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
