//! The test that every handler deserves, as a Rust test: the right version passes, and each flaw is found.

#![expect(
    clippy::unwrap_used,
    reason = "test helpers may panic; only functions marked as tests are exempt automatically"
)]

use std::path::Path;
use std::time::Duration;

use handlers_axum::Version;
use hapax_twice::{FindingKind, Plan, Report, Twice};

const SECRET: &str = "whsec_example";
/// Long enough for a snapshot in between, even on a busy machine.
const BANK_TAKES: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_right_version_passes_every_plan() {
    let report = test(Version::Right, Plan::standard()).await;
    report.assert();
    let tried = report.results.len();
    assert_eq!(tried, Plan::standard().len(), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_then_act_is_found_to_book_twice() {
    for plan in [Plan::Concurrent(4), Plan::Slow] {
        let report = test(Version::CheckThenAct, vec![plan]).await;
        assert_eq!(findings(&report), [FindingKind::Doubled], "{report}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn insert_then_work_is_found_to_lose_events() {
    let report = test(Version::InsertThenWork, vec![Plan::HangUp]).await;
    assert_eq!(findings(&report), [FindingKind::Lost], "{report}");
    let report = test(Version::InsertThenWork, vec![Plan::Slow]).await;
    assert_eq!(findings(&report), [FindingKind::AnsweredEarly], "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_the_bank_loses_events_only_where_they_were_remembered_too_early() {
    let folder = tempfile::tempdir().unwrap();
    let bank = concat!(env!("CARGO_MANIFEST_DIR"), "/../bank");
    let plan = |name: &str| {
        let file = folder.path().join(name);
        let command = format!("DATABASE='{}' {bank}", file.display());
        (file, vec![Plan::Outage(command)])
    };
    let (file, plans) = plan("flawed.db");
    let report = test_in(&file, Version::InsertThenWork, plans).await;
    assert_eq!(findings(&report), [FindingKind::Lost], "{report}");
    let (file, plans) = plan("right.db");
    test_in(&file, Version::Right, plans).await.assert();
}

async fn test(version: Version, plans: Vec<Plan>) -> Report {
    let folder = tempfile::tempdir().unwrap();
    test_in(&folder.path().join("shop.db"), version, plans).await
}

async fn test_in(file: &Path, version: Version, plans: Vec<Plan>) -> Report {
    let router = handlers_axum::router(version, file, SECRET, BANK_TAKES).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/webhooks", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let file = file.to_owned();
    Twice::new(url)
        .provider("stripe")
        .secret(SECRET)
        .plans(plans)
        .settle(Duration::from_millis(200))
        .snapshot(move || {
            let file = file.clone();
            async move { tokio::task::spawn_blocking(move || state(&file)).await? }
        })
        .run()
        .await
        .unwrap()
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn state(file: &Path) -> Result<String, Failure> {
    let connection = rusqlite::Connection::open(file)?;
    let query = "select 'balance ' || balance from account union all \
                 select 'payment ' || event_id || ' ' || amount from payments";
    let mut statement = connection.prepare(query)?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines: Vec<String> = rows.collect::<Result<_, _>>()?;
    Ok(lines.join("\n"))
}

fn findings(report: &Report) -> Vec<FindingKind> {
    report.failures().map(|(_, finding)| finding.kind).collect()
}
