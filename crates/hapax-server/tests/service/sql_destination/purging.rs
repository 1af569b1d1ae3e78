//! Expired inbox rows are removed as fast as new ones are added.

use std::time::{Duration, Instant};

use hapax_core::Leased;
use hapax_engine::Reply;
use tokio_postgres::SimpleQueryMessage;

use super::database::Target;
use super::event;

const NOTES: &str = "create table notes (event text)";

const NOTE: &str = r#"params = { event = "event_id" }
statements = ["insert into notes values (:event)"]"#;

/// The index of a table that an earlier release created.
const EARLIER: &str = "drop index hapax_inbox_expires;
    create index hapax_inbox_expires on hapax_inbox using brin (expires_at)";

/// Applies events, each twice, until all expired rows are gone, and no others.
async fn purged(target: &Target) {
    let sql = target.destination(NOTE);
    let events: Vec<Leased> = (0..200)
        .map(|number| event(&format!("evt_{number}"), "{}"))
        .collect();
    for _ in 0..2 {
        let answers = futures_util::future::join_all(events.iter().map(|event| sql.deliver(event))).await;
        for answer in &answers {
            assert_eq!(answer.reply, Reply::Done, "{answer:?}");
        }
    }
    let started = Instant::now();
    while target.number("select count(*) from hapax_inbox").await > 200 {
        assert!(started.elapsed() < Duration::from_secs(60), "they stay");
    }
    let kept = "select count(*) from hapax_inbox where event_id like 'evt_%'";
    assert_eq!(target.number(kept).await, 200);
    assert_eq!(target.number("select count(*) from notes").await, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_rows_of_the_inbox_go_while_events_come_and_after() {
    for target in Target::both(NOTES).await {
        target.expired(40_000).await;
        purged(&target).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_of_an_earlier_release_is_purged_as_well() {
    let target = Target::postgres(NOTES).await;
    target.expired(4_000).await;
    target.run(EARLIER).await;
    purged(&target).await;
}

/// BRIN keeps the smallest value that a range of pages ever had: once pages are reused, all of them look expired.
#[tokio::test]
async fn expired_rows_are_found_however_often_the_pages_of_the_inbox_were_used() {
    let target = Target::postgres(NOTES).await;
    target.expired(20_000).await;
    for statement in [
        "delete from hapax_inbox",
        "vacuum hapax_inbox",
        "insert into hapax_inbox (scope, event_id, consumer)
         select 'shop', n::text, 'app' from generate_series(1, 20000) as n",
        "vacuum analyze hapax_inbox",
    ] {
        target.run(statement).await;
    }
    let looking = "explain (analyze, buffers, costs off, timing off)
                   select ctid from hapax_inbox where expires_at < now() order by expires_at limit 1000";
    let plan = target.client().await.simple_query(looking).await.unwrap();
    let lines = plan.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let lines: Vec<&str> = lines.collect();
    let pages: u64 = lines
        .iter()
        .find_map(|line| line.trim().strip_prefix("Buffers: shared "))
        .unwrap()
        .split([' ', '='])
        .filter_map(|word| word.parse::<u64>().ok())
        .sum();
    assert!(pages < 20, "{lines:#?}");
}
