//! Each plan against a handler with the one fault that it detects, and against one without: real HTTP, state in memory.

#![expect(
    clippy::unwrap_used,
    reason = "test helpers may panic; the lint exempts only functions marked as tests"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use hapax_twice::{FindingKind, Plan, Report, Twice};
use hapax_verify::{Options, Request, Verifier, catalogue};
use parking_lot::Mutex;
use serde_json::Value;

const SECRET: &str = "whsec_plans";
const OLDER: &str = r#"{"id":"evt_1","type":"subscription","version":1,"status":"active"}"#;
const NEWER: &str = r#"{"id":"evt_2","type":"subscription","version":2,"status":"canceled"}"#;

/// What is wrong with a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// It remembers nothing.
    Forgetful,
    /// It remembers only the last three events.
    ShortMemory,
    /// It answers a duplicate with 409.
    RefusesDuplicates,
    /// The event that arrives last wins.
    LastWins,
    /// It checks no signature.
    Trusting,
    /// It records the event before it checks the signature.
    RemembersForgeries,
    /// It applies the event before it checks the signature.
    WorksFirst,
    /// It records the event before it applies it, which may fail.
    RemembersFailures,
}

#[derive(Debug, Default)]
struct Memory {
    seen: Vec<String>,
    total: u64,
    version: u64,
    status: String,
}

#[tokio::test]
async fn a_handler_without_fault_passes_every_plan() {
    let report = test(Fault::None, Plan::standard()).await;
    report.assert();
    // Two events under each plan, and one pair of them.
    assert_eq!(report.results.len(), 17, "{report}");
}

#[tokio::test]
async fn a_handler_that_remembers_nothing_is_found_by_every_kind_of_copy() {
    for plan in [
        Plan::Again,
        Plan::Concurrent(3),
        Plan::HangUp,
        Plan::Slow,
        Plan::Late(2),
    ] {
        finds(Fault::Forgetful, plan, FindingKind::Doubled).await;
    }
}

#[tokio::test]
async fn a_short_memory_is_found_by_a_late_copy_and_not_by_an_early_one() {
    finds(Fault::ShortMemory, Plan::Late(4), FindingKind::Doubled).await;
    test(Fault::ShortMemory, vec![Plan::Again]).await.assert();
}

#[tokio::test]
async fn a_copy_that_is_refused_is_a_fault() {
    finds(
        Fault::RefusesDuplicates,
        Plan::Again,
        FindingKind::DuplicateRefused,
    )
    .await;
}

#[tokio::test]
async fn an_older_event_that_overwrites_a_newer_one_is_a_fault() {
    finds(Fault::LastWins, Plan::OutOfOrder, FindingKind::Overwritten).await;
}

#[tokio::test]
async fn forged_deliveries_are_seen_through() {
    for plan in [Plan::Unsigned, Plan::Tampered, Plan::Stale] {
        finds(Fault::Trusting, plan.clone(), FindingKind::ForgeryAccepted).await;
        finds(Fault::WorksFirst, plan.clone(), FindingKind::ForgeryTookEffect).await;
        finds(Fault::RemembersForgeries, plan, FindingKind::Lost).await;
    }
}

#[tokio::test]
async fn an_event_whose_work_failed_once_is_lost_where_it_was_remembered_too_early() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("down");
    let switch = format!(
        "s() {{ [ $1 = down ] && touch '{0}' || rm '{0}'; }}; s",
        file.display()
    );
    let plans = vec![Plan::Outage(switch)];
    let lossy = test_while(Fault::RemembersFailures, plans.clone(), file.clone()).await;
    assert!(
        lossy
            .failures()
            .all(|(_, finding)| finding.kind == FindingKind::Lost)
            && !lossy.passed(),
        "{lossy}"
    );
    test_while(Fault::None, plans, file).await.assert();
}

async fn finds(fault: Fault, plan: Plan, kind: FindingKind) {
    let report = test(fault, vec![plan]).await;
    let kinds: Vec<FindingKind> = report.failures().map(|(_, finding)| finding.kind).collect();
    assert!(
        !kinds.is_empty() && kinds.iter().all(|found| *found == kind),
        "{fault:?}: {report}"
    );
}

async fn test(fault: Fault, plans: Vec<Plan>) -> Report {
    test_while(fault, plans, PathBuf::new()).await
}

/// Applying an event fails while the file `down` exists.
async fn test_while(fault: Fault, plans: Vec<Plan>, down: PathBuf) -> Report {
    let memory = Arc::new(Mutex::new(Memory::default()));
    let shown = Arc::clone(&memory);
    let handler = move |headers: HeaderMap, body: Bytes| {
        let mut memory = memory.lock();
        let status = if down.exists() {
            fail(&mut memory, fault, &body)
        } else {
            handle(&mut memory, fault, &headers, &body)
        };
        async move { status }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(handler))).await });
    Twice::new(url)
        .provider("stripe")
        .secret(SECRET)
        .event("older", OLDER)
        .event("newer", NEWER)
        .plans(plans)
        .settle(Duration::from_millis(5))
        .snapshot(move || {
            let memory = shown.lock();
            let text = format!("total {}\nstatus {}", memory.total, memory.status);
            async move { Ok::<_, std::convert::Infallible>(text) }
        })
        .run()
        .await
        .unwrap()
}

fn handle(memory: &mut Memory, fault: Fault, headers: &HeaderMap, body: &[u8]) -> StatusCode {
    let event: Value = serde_json::from_slice(body).unwrap();
    let id = event["id"].as_str().unwrap().to_owned();
    let known = memory.seen.contains(&id);
    let genuine = fault == Fault::Trusting || is_genuine(headers, body);
    if genuine || fault == Fault::RemembersForgeries {
        memory.seen.push(id);
    }
    if !known && (genuine || fault == Fault::WorksFirst) || fault == Fault::Forgetful {
        work(memory, fault, &event);
    }
    if fault == Fault::ShortMemory && memory.seen.len() > 3 {
        memory.seen.remove(0);
    }
    match (genuine, known && fault == Fault::RefusesDuplicates) {
        (false, _) => StatusCode::BAD_REQUEST,
        (true, true) => StatusCode::CONFLICT,
        (true, false) => StatusCode::OK,
    }
}

fn fail(memory: &mut Memory, fault: Fault, body: &[u8]) -> StatusCode {
    let event: Value = serde_json::from_slice(body).unwrap();
    if fault == Fault::RemembersFailures {
        memory.seen.push(event["id"].as_str().unwrap().to_owned());
    }
    StatusCode::INTERNAL_SERVER_ERROR
}

fn work(memory: &mut Memory, fault: Fault, event: &Value) {
    memory.total += 20;
    let version = event["version"].as_u64().unwrap();
    if version >= memory.version || fault == Fault::LastWins {
        memory.version = version;
        event["status"].as_str().unwrap().clone_into(&mut memory.status);
    }
}

fn is_genuine(headers: &HeaderMap, body: &[u8]) -> bool {
    let stripe = catalogue::get("stripe").unwrap();
    let verifier = Verifier::new(&stripe.recipe(), &[SECRET], &Options::default()).unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let request = Request::new(headers, body, now.as_secs() as i64);
    verifier.verify(&request).is_ok()
}
