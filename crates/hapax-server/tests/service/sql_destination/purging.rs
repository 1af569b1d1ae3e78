//! What the inbox need not remember any more goes, as fast as it comes.

use std::time::{Duration, Instant};

use hapax_core::Leased;
use hapax_engine::Reply;

use super::database::Target;
use super::event;

const NOTES: &str = "create table notes (event text)";

const NOTE: &str = r#"params = { event = "event_id" }
statements = ["insert into notes values (:event)"]"#;

/// The index of a table that an earlier release made.
const EARLIER: &str = "drop index hapax_inbox_expires;
    create index hapax_inbox_expires on hapax_inbox using brin (expires_at)";

/// Applies events, each twice, until the rows that have expired are gone, and none else.
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

/// BRIN keeps the smallest value that a range of pages ever had: once pages are used again, each of them looks expired.
#[tokio::test]
async fn expired_rows_are_found_however_often_the_pages_of_the_inbox_were_used() {
    let target = Target::postgres(NOTES).await;
    target.expired(0).await;
    let kind = "select count(*) from pg_class c join pg_am a on a.oid = c.relam
                where c.relname = 'hapax_inbox_expires' and a.amname = 'btree'";
    assert_eq!(target.number(kind).await, 1);
}
