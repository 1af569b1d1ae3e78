//! Runs the SQL of the guides as printed, and finds the page of every code.

use hapax::outbox::Call;
use hapax::{Event, Inbox, Outcome};
use rusqlite::Connection;

use crate::subject::{Action, Delivery, Subject as _};
use crate::tokio_postgres::TokioPostgres;

const MOVING: &str = include_str!("../../../../docs/guides/moving-from-processed-events.md");
const CONDITIONAL: &str = include_str!("../../../../docs/guides/conditional-updates.md");
const KEYS: &str = include_str!("../../../../docs/guides/idempotency-keys.md");

/// The SQL block after a marker.
fn marked(mark: &str) -> &'static str {
    let (_, rest) = MOVING.split_once(&format!("<!-- {mark} -->\n```sql\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// Every SQL block of a guide, in order.
fn blocks(guide: &'static str) -> impl Iterator<Item = &'static str> {
    guide
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0)
}

fn event(id: &str) -> Event {
    Event::new("stripe", id).unwrap().with_body(b"{}")
}

#[tokio::test]
async fn old_and_new_code_side_by_side_apply_each_event_once_during_the_move() {
    let subject = TokioPostgres::new().await;
    let mut client = subject.database.client().await.unwrap();
    client
        .batch_execute(blocks(MOVING).next().unwrap())
        .await
        .unwrap();
    let old = "insert into processed_events (event_id) values ($1) on conflict do nothing";
    assert_eq!(client.execute(old, &[&"before"]).await.unwrap(), 1);
    client.batch_execute(marked("postgres: bridge")).await.unwrap();
    assert_eq!(client.execute(old, &[&"meanwhile"]).await.unwrap(), 1);
    for _ in 0..2 {
        client.batch_execute(marked("postgres: import")).await.unwrap();
    }

    let inbox = Inbox::new("billing").unwrap();
    for (id, first) in [
        ("before", Outcome::Duplicate),
        ("meanwhile", Outcome::Duplicate),
        ("new", Outcome::Processed(())),
    ] {
        for expected in [first, Outcome::Duplicate] {
            let event = event(id);
            let run = inbox.run(&mut client, &event, async |_tx| Ok::<_, hapax::Error>(()));
            assert_eq!(run.await.unwrap(), expected, "{id}");
        }
    }
    // Old code encounters an event that new code has applied: its transaction fails.
    for _ in 0..2 {
        let refused = client.execute(old, &[&"new"]).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "23505");
    }
    client.batch_execute(marked("postgres: clean up")).await.unwrap();
    assert_eq!(client.execute(old, &[&"new"]).await.unwrap(), 1);
}

#[test]
fn what_is_imported_on_sqlite_is_not_applied_again_and_keeps_its_time() {
    let mut connection = Connection::open_in_memory().unwrap();
    hapax::create_tables(&connection).unwrap();
    let old = "create table processed_events (event_id text primary key, processed_at text not null default current_timestamp);
        insert into processed_events values ('before', '2026-01-01 00:00:00')";
    connection.execute_batch(old).unwrap();
    for _ in 0..2 {
        connection.execute_batch(marked("sqlite: import")).unwrap();
    }
    let inbox = Inbox::new("billing").unwrap();
    for (id, first) in [("before", Outcome::Duplicate), ("new", Outcome::Processed(()))] {
        for expected in [first, Outcome::Duplicate] {
            let run = inbox.run_blocking(&mut connection, &event(id), |_tx| Ok::<_, hapax::Error>(()));
            assert_eq!(run.unwrap(), expected, "{id}");
        }
    }
    let kept = "select processed_at = 1767225600000 and expires_at > processed_at from hapax_inbox where event_id = 'before'";
    assert!(
        connection
            .query_row(kept, (), |row| row.get::<_, bool>(0))
            .unwrap()
    );
}

#[tokio::test]
async fn every_conditional_statement_runs_on_both_databases() {
    let subject = TokioPostgres::new().await;
    let client = subject.database.client().await.unwrap();
    let connection = Connection::open_in_memory().unwrap();
    let mut count = 0;
    for block in blocks(CONDITIONAL) {
        client.batch_execute(block).await.unwrap();
        connection.execute_batch(block).unwrap();
        count += 1;
    }
    assert!(count > 5, "the guide has moved");
    let now = "select status || updated_at from orders";
    assert_eq!(
        client.query_one(now, &[]).await.unwrap().get::<_, String>(0),
        "refunded1767225700"
    );
    assert_eq!(
        connection
            .query_row(now, (), |row| row.get::<_, String>(0))
            .unwrap(),
        "refunded1767225700"
    );
}

#[tokio::test]
async fn the_key_that_the_guide_prints_is_the_one_that_is_staged() {
    let subject = TokioPostgres::new().await;
    for _ in 0..2 {
        let event = Event::new("stripe", "evt_1").unwrap();
        let refund = Action::Stage(Call::http("https://api.example.com/refunds"));
        let _ = subject.run(Delivery::of(event).then(refund)).await.unwrap();
    }
    assert!(KEYS.contains(&subject.keys().await[0]));
}

#[test]
fn every_code_has_a_page() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors/");
    for code in [
        "in_flight",
        "handler_failed",
        "store_unavailable",
        "several_events",
    ] {
        let page = std::fs::read_to_string(format!("{folder}{code}.md")).unwrap();
        assert!(page.starts_with(&format!("# {code}\n")), "{code}");
    }
}
