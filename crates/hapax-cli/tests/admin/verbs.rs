//! The verbs, as the binary runs them, against a running admin port.

use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::site::{Mood, Site, TOKEN};

/// The binary, in the folder of the site, without the environment of the test.
fn hapax(site: &Site, words: &[&str]) -> Command {
    let mut command = Command::new(hapax_testkit::binary());
    command
        .env_clear()
        .current_dir(site.folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
        .env("USER", "ada")
        .args(["--admin", &format!("http://{}", site.address), "--token", TOKEN])
        .args(words);
    command
}

async fn run(site: &Site, words: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = hapax(site, words).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

async fn json(site: &Site, words: &[&str]) -> Value {
    let (code, stdout, stderr) = run(site, &[words, &["--json"]].concat()).await;
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_listed_shown_and_written_out() {
    let site = Site::start().await;
    let id = site.accept_until("evt/1", "completed").await.to_string();
    let (code, stdout, _) = run(&site, &["events", "list", "--source", "stripe", "--since", "1h"]).await;
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!(
        (code, lines.len(), lines[0]),
        (
            0,
            2,
            "id\tsource\tevent id\ttype\tstatus\treceived\tsize\tduplicates"
        )
    );
    assert!(
        lines[1].starts_with(&format!("{id}\tstripe\tevt/1\tinvoice.paid\tcompleted\t")),
        "{stdout}"
    );
    let page = json(&site, &["events", "list"]).await;
    assert_eq!(page, site.get("events").await.ok());
    let (code, stdout, stderr) = run(&site, &["events", "list", "--status", "dead"]).await;
    assert_eq!(
        (code, stdout.as_str(), stderr.trim()),
        (0, "", "no event matches")
    );

    assert_eq!(
        json(&site, &["events", "show", &id]).await,
        site.get(&format!("events/{id}")).await.ok()
    );
    let (_, stdout, _) = run(&site, &["events", "show", &id]).await;
    assert!(
        stdout.contains("event id    evt/1") && stdout.contains("billing\tcompleted\t1\t0"),
        "{stdout}"
    );
    let (_, stdout, _) = run(&site, &["events", "payload", &id]).await;
    assert_eq!(stdout, "{\"type\":\"invoice.paid\"}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_longer_than_a_page_is_fetched_whole() {
    let site = Site::start().await;
    let arrivals = (0..450).map(|number| site.accept_quietly(format!("evt_{number}")));
    futures_util::future::join_all(arrivals).await;
    let page = json(&site, &["events", "list", "--limit", "420"]).await;
    assert_eq!(page["events"].as_array().unwrap().len(), 420);
    let rest = json(
        &site,
        &[
            "events",
            "list",
            "--limit",
            "420",
            "--cursor",
            page["next"].as_str().unwrap(),
        ],
    )
    .await;
    assert_eq!(
        (rest["events"].as_array().unwrap().len(), rest["next"].as_str()),
        (30, None)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tail_prints_a_line_for_each_arrival() {
    let site = Site::start().await;
    let mut tail = hapax(&site, &["events", "tail"]);
    let mut tail = tail
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It prints this only once the stream is open, so every later event is shown.
    let mut said = BufReader::new(tail.stderr.take().unwrap()).lines();
    assert!(
        said.next_line()
            .await
            .unwrap()
            .unwrap()
            .starts_with("following http://")
    );
    site.accept("evt_1").await;
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(line.contains("accepted") && line.ends_with("evt_1"), "{line}");
    tail.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_by_id_says_what_was_refused() {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    let dead = site.accept_until("evt_1", "dead").await.to_string();
    site.mood(Mood::Willing);
    let done = site.accept_until("evt_2", "completed").await.to_string();
    let (code, stdout, _) = run(&site, &["replay", &dead, "--dry-run"]).await;
    assert_eq!((code, stdout), (0, format!("{dead}: dead, would be replayed\n")));
    let (code, stdout, stderr) = run(&site, &["replay", &dead, &done]).await;
    assert_eq!((code, stdout), (1, format!("{dead}: 1 delivery requeued\n")));
    assert!(stderr.contains("nothing_to_replay"), "{stderr}");
    let (code, _, stderr) = run(&site, &["replay", "01940000-0000-7000-8000-000000000001"]).await;
    assert_eq!(code, 4, "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_by_filters_counts_first_and_reports_at_the_end() {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    for number in 0..3 {
        site.accept_until(&format!("evt_{number}"), "dead").await;
    }
    let filters = [
        "replay", "--status", "dead", "--source", "stripe", "--since", "1h",
    ];
    let (code, stdout, _) = run(&site, &[&filters[..], &["--dry-run"]].concat()).await;
    assert_eq!((code, stdout.as_str()), (0, "3 events match\n"));
    site.mood(Mood::Willing);
    let (code, stdout, stderr) = run(&site, &[&filters[..], &["--why", "fixed"]].concat()).await;
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stdout.contains("3 events, 3 deliveries requeued, 0 events refused"),
        "{stdout}"
    );
    let (code, _, stderr) = run(&site, &["replay", "--source", "nobody"]).await;
    assert_eq!((code, stderr.trim()), (0, "no event matches: nothing to replay"));
    assert_eq!(run(&site, &["replay"]).await.0, 2);
    assert_eq!(site.get("audit").await.ok()["audit"][0]["who"], "admin");
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_discarded_with_the_way_back() {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    let id = site.accept_until("evt_1", "dead").await.to_string();
    let (_, stdout, _) = run(&site, &["dead", "list", "--destination", "billing"]).await;
    assert!(
        stdout.contains(&format!("{id}\tbilling\tdead\trefused\t1\t0\t")),
        "{stdout}"
    );
    let (code, _, stderr) = run(&site, &["dead", "discard", &id]).await;
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stderr.contains("discarded 1 delivery") && stderr.contains(&format!("hapax dead restore {id}")),
        "{stderr}"
    );
    assert_eq!(
        run(&site, &["dead", "list"]).await.2.trim(),
        "there are no dead letters"
    );
    let restored = json(&site, &["dead", "restore", "--all", "--destination", "billing"]).await;
    assert_eq!(restored["changed"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn forget_pause_resume_and_stats_do_what_they_say() {
    let site = Site::start().await;
    site.accept_until("a/b%3A", "completed").await;
    let (code, _, stderr) = run(&site, &["forget", "stripe", "a/b%3A"]).await;
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(run(&site, &["forget", "stripe", "a/b%3A"]).await.0, 4);
    let (code, _, stderr) = run(&site, &["pause", "billing", "--why", "moving"]).await;
    assert!(code == 0 && stderr.contains("hapax resume billing"), "{stderr}");
    let (_, stdout, _) = run(&site, &["stats"]).await;
    assert!(stdout.contains("paused by admin: moving"), "{stdout}");
    assert_eq!(json(&site, &["resume", "billing"]).await["was_paused"], true);
    assert_eq!(json(&site, &["stats"]).await["sources"][2]["accepted"], 1);
    assert_eq!(run(&site, &["pause", "nowhere"]).await.0, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_and_an_absent_service_say_what_to_do() {
    let site = Site::start().await;
    let admin = format!("http://{}", site.address);
    let wrong = ["--admin", admin.as_str(), "--token", "wrong", "stats"];
    let mut command = Command::new(hapax_testkit::binary());
    let output = command
        .env_clear()
        .current_dir(site.folder.path())
        .args(wrong)
        .output()
        .await
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && stderr.contains("HAPAX_ADMIN_TOKEN"),
        "{stderr}"
    );
    // A port that was just free, so nothing listens there.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let mut command = Command::new(hapax_testkit::binary());
    let absent = ["--admin", &format!("http://{free}"), "stats"];
    let output = command
        .env_clear()
        .current_dir(site.folder.path())
        .args(absent)
        .output()
        .await
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && stderr.contains("hapax serve"),
        "{stderr}"
    );
    assert!(stderr.contains(&free.to_string()), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_names_what_is_wrong_and_ends_with_5() {
    let site = Site::start().await;
    let (code, stdout, stderr) = run(&site, &["doctor", "--json"]).await;
    let report: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout} {stderr}"));
    let outcome = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks
            .iter()
            .find(|check| check["name"] == name)
            .unwrap_or_else(|| panic!("{name} in {stdout}"))["outcome"]
            .clone()
    };
    for name in [
        "configuration",
        "source stripe",
        "admin token",
        "clock",
        "store",
        "disk flush",
    ] {
        assert_eq!(outcome(name), "ok", "{stdout}");
    }
    // Nothing listens on port 9.
    assert_eq!((outcome("destination billing"), code), ("fail".into(), 5));
    let failing = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["outcome"] != "ok");
    assert!(failing.clone().all(|check| check["fix"].is_string()), "{stdout}");

    let (code, stdout, _) = run(&site, &["doctor", "-c", "absent.toml"]).await;
    assert!(code == 5 && stdout.contains("hapax init"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalogue_needs_no_service() {
    let site = Site::start().await;
    let (code, stdout, _) = run(&site, &["providers"]).await;
    let mut lines = stdout.lines();
    let stripe = lines.find(|line| line.starts_with("stripe\tStripe\thmac-sha256"));
    assert!(
        code == 0 && stripe.is_some_and(|line| line.contains("\tbody:/id\t")),
        "{stdout}"
    );
    assert_eq!(
        json(&site, &["providers", "stripe"]).await["retry_window_hours"],
        72.0
    );
    let (code, _, stderr) = run(&site, &["providers", "strip"]).await;
    assert!(code == 4 && stderr.contains("did you mean `stripe`"), "{stderr}");
}
