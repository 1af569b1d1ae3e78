//! Tables that change while a destination is running.

use hapax_core::Leased;
use hapax_engine::Reply;

use super::database::{Sql, Target};
use super::event;

/// Delivers each event twice at the same moment; all succeed.
async fn all_done(sql: &Sql, events: &[Leased]) {
    for _ in 0..2 {
        let answers = futures_util::future::join_all(events.iter().map(|event| sql.deliver(event))).await;
        for answer in &answers {
            assert_eq!(answer.reply, Reply::Done, "{answer:?}");
        }
    }
}

fn events(round: &str, amount: &str) -> Vec<Leased> {
    (0..20)
        .map(|number| {
            event(
                &format!("evt_{round}_{number}"),
                &format!(r#"{{"amount":{amount}}}"#),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_column_that_gets_another_type_fails_no_event() {
    let settings = r#"params = { event = "event_id", amount = "body:/amount" }
        statements = ["insert into payments (event, amount) values (:event, :amount)"]"#;
    let target = Target::postgres("create table payments (event text, amount integer)").await;
    let sql = target.destination(settings);
    all_done(&sql, &events("small", "1")).await;
    let client = target.client().await;
    for (round, kind) in [("bigint", "bigint"), ("numeric", "numeric"), ("text", "text")] {
        let alter = format!("alter table payments alter column amount type {kind}");
        client.batch_execute(&alter).await.unwrap();
        all_done(&sql, &events(round, "3000000000")).await;
    }
    assert_eq!(target.number("select count(*) from payments").await, 80);
}

#[tokio::test]
async fn a_statement_whose_result_gets_other_columns_fails_no_event() {
    let settings = r#"params = { event = "event_id" }
        statements = ["insert into payments (event) values (:event) returning *"]"#;
    let target = Target::postgres("create table payments (event varchar(40))").await;
    let sql = target.destination(settings);
    all_done(&sql, &events("before", "1")).await;
    let client = target.client().await;
    for (round, change) in [
        ("wider", "alter column event type varchar(80)"),
        ("more", "add column note text"),
    ] {
        client
            .batch_execute(&format!("alter table payments {change}"))
            .await
            .unwrap();
        all_done(&sql, &events(round, "1")).await;
    }
    assert_eq!(target.number("select count(*) from payments").await, 60);
}

#[tokio::test]
async fn an_inbox_that_was_dropped_is_made_again() {
    let settings = r#"params = { event = "event_id" }
        statements = ["insert into payments (event) values (:event)"]"#;
    let target = Target::postgres("create table payments (event text)").await;
    let sql = target.destination(settings);
    all_done(&sql, &events("before", "1")).await;
    target.run("drop table hapax_inbox").await;
    all_done(&sql, &events("after", "1")).await;
    assert_eq!(target.number("select count(*) from payments").await, 40);
}
