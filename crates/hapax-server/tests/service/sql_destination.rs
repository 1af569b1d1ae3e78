//! The `sql` destination, on a real PostgreSQL and on a real SQLite file. Every event is delivered twice.

mod changes;
mod database;
mod neighbours;
mod purging;

use std::time::Duration;

use hapax_core::{ErrorClass, Generation, Leased};
use hapax_engine::{AttemptResult, Reply};

use super::http_destination::delivery;
use database::Target;

const ACCOUNTS: &str = "
    create table accounts (id text primary key, balance bigint not null check (balance <= 100));
    insert into accounts values ('a', 0), ('b', 0);
    create table seen (event text, amount numeric, flag boolean, document text, note text, moment text);";

const PLUS_ONE: &str = r#"params = { account = "body:/account" }
statements = ["update accounts set balance = balance + 1 where id = :account"]"#;

/// An event with this id and body.
fn event(id: &str, body: &str) -> Leased {
    let mut leased = delivery();
    id.clone_into(&mut leased.event.identity.event_id);
    leased.event.body = body.to_owned().into();
    leased.event.raw_hash = hapax_core::BodyHash::of(body.as_bytes());
    leased
}

fn refusal(answer: &AttemptResult) -> &str {
    match &answer.reply {
        Reply::Refused {
            class: ErrorClass::Sql,
            message,
        } => message,
        Reply::Refused { .. } | Reply::Done | Reply::Failed { .. } => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn an_event_is_applied_once_however_often_it_is_delivered() {
    for target in Target::both(ACCOUNTS).await {
        let sql = target.destination(PLUS_ONE);
        let one = event("evt_1", r#"{"account":"a"}"#);
        let first = sql.deliver(&one).await;
        assert_eq!(
            (first.reply, first.excerpt.as_str()),
            (Reply::Done, "rows affected: 1")
        );
        let again = sql.deliver(&one).await;
        assert_eq!(again.reply, Reply::Done);
        assert!(again.excerpt.starts_with("already applied"), "{again:?}");
        assert_eq!(
            target.number("select balance from accounts where id = 'a'").await,
            1
        );
        // A forced replay: the next generation.
        let forced = Leased {
            generation: Generation(1),
            ..one
        };
        for _ in 0..2 {
            assert_eq!(sql.deliver(&forced).await.reply, Reply::Done);
        }
        assert_eq!(
            target.number("select balance from accounts where id = 'a'").await,
            2
        );
        assert_eq!(target.number("select count(*) from hapax_inbox").await, 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_at_the_same_moment_are_applied_once() {
    for target in Target::both(ACCOUNTS).await {
        // Two destinations of the same name, as on two replicas.
        let replicas = [target.destination(PLUS_ONE), target.destination(PLUS_ONE)];
        let events: Vec<Leased> = (0..40)
            .map(|number| event(&format!("evt_{number}"), r#"{"account":"b"}"#))
            .collect();
        let attempts = (0..4).flat_map(|round| {
            let replica = &replicas[round % 2];
            events.iter().map(move |event| replica.deliver(event))
        });
        let answers = futures_util::future::join_all(attempts).await;
        assert!(
            answers.iter().all(|answer| answer.reply == Reply::Done),
            "{answers:?}"
        );
        assert_eq!(
            target.number("select balance from accounts where id = 'b'").await,
            40
        );
    }
}

#[tokio::test]
async fn no_row_that_fits_is_told_and_done() {
    for target in Target::both(ACCOUNTS).await {
        let sql = target.destination(PLUS_ONE);
        for _ in 0..2 {
            let answer = sql.deliver(&event("evt_1", r#"{"account":"nobody"}"#)).await;
            assert_eq!(answer.reply, Reply::Done);
        }
        let answer = sql.deliver(&event("evt_2", r#"{"account":"nobody"}"#)).await;
        assert_eq!(
            answer.excerpt,
            "rows affected: 0 (no row matched the statements' conditions)"
        );
    }
}

#[tokio::test]
async fn values_are_bound_with_their_types_and_never_part_of_the_sql() {
    let settings = r#"
        params = { event = "event_id", amount = "body:/amount", flag = "body:/flag", document = { from = "body:/document", type = "text" }, note = { from = "body:/note", optional = true }, moment = "received_at" }
        statements = ["insert into seen values (:event, :amount, :flag, :document, :note, :moment)"]"#;
    let body = r#"{"amount":12.50,"flag":true,"document":{"a":[1,"x"]}}"#;
    let evil = "'); drop table accounts; --";
    for target in Target::both(ACCOUNTS).await {
        let sql = target.destination(settings);
        for _ in 0..2 {
            let answer = sql.deliver(&event(evil, body)).await;
            assert_eq!(answer.reply, Reply::Done, "{answer:?}");
        }
        let fits = format!(
            "select count(*) from seen where event = '{}' and amount = 12.5 and flag and note is null
             and document = '{{\"a\":[1,\"x\"]}}' and moment = '2026-01-01T00:00:00.000000Z'",
            evil.replace('\'', "''")
        );
        assert_eq!(target.number(&fits).await, 1);
        assert_eq!(target.number("select count(*) from accounts").await, 2);
    }
}

#[tokio::test]
async fn a_value_that_is_missing_or_of_another_type_makes_the_delivery_dead_with_the_reason() {
    for target in Target::both(ACCOUNTS).await {
        let sql = target.destination(PLUS_ONE);
        let typed = target.destination(
            "params = { account = { from = \"body:/account\", type = \"integer\" } }\n\
             statements = [\"update accounts set balance = :account\"]",
        );
        for _ in 0..2 {
            let missing = sql.deliver(&event("evt_1", "{}")).await;
            assert!(
                refusal(&missing).contains("`account` has no value: the event has no `body:/account`"),
                "{missing:?}"
            );
            let other = typed.deliver(&event("evt_2", r#"{"account":"a"}"#)).await;
            assert!(
                refusal(&other).contains("is a string, not of type integer"),
                "{other:?}"
            );
        }
        assert_eq!(
            target
                .number("select count(*) from accounts where balance > 0")
                .await,
            0
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_the_database_refuses_does_not_harm_its_neighbours_and_leaves_no_claim() {
    let settings = r#"params = { account = "body:/account", amount = "body:/amount" }
        statements = ["update accounts set balance = balance + 1 where id = 'b'", "update accounts set balance = balance + :amount where id = :account"]"#;
    for target in Target::both(ACCOUNTS).await {
        let sql = target.destination(settings);
        let mut events: Vec<Leased> = (0..20)
            .map(|number| event(&format!("evt_{number}"), r#"{"account":"a","amount":1}"#))
            .collect();
        events.push(event("evt_greedy", r#"{"account":"a","amount":1000}"#));
        for _ in 0..2 {
            let answers = futures_util::future::join_all(events.iter().map(|event| sql.deliver(event))).await;
            let (greedy, others) = answers.split_last().unwrap();
            assert!(refusal(greedy).contains(target.check_violation()), "{greedy:?}");
            assert!(
                others.iter().all(|answer| answer.reply == Reply::Done),
                "{others:?}"
            );
        }
        assert_eq!(
            target.number("select balance from accounts where id = 'a'").await,
            20
        );
        // The first statement of the refused event is undone, too.
        assert_eq!(
            target.number("select balance from accounts where id = 'b'").await,
            20
        );
        assert_eq!(
            target
                .number("select count(*) from hapax_inbox where event_id = 'evt_greedy'")
                .await,
            0
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_of_events_that_share_a_transaction_do_not_mix() {
    let tables =
        "create table counter (n bigint); insert into counter values (0); create table seen (n bigint);";
    let settings =
        r#"statements = ["update counter set n = n + 1", "insert into seen select n from counter"]"#;
    for target in Target::both(tables).await {
        let sql = target.destination(settings);
        let events: Vec<Leased> = (0..40)
            .map(|number| event(&format!("evt_{number}"), "{}"))
            .collect();
        for _ in 0..2 {
            let answers = futures_util::future::join_all(events.iter().map(|event| sql.deliver(event))).await;
            assert!(
                answers.iter().all(|answer| answer.reply == Reply::Done),
                "{answers:?}"
            );
        }
        // Each event saw its own number: none twice, none missing.
        assert_eq!(target.number("select count(distinct n) from seen").await, 40);
        assert_eq!(target.number("select max(n) from seen").await, 40);
    }
}

#[tokio::test]
async fn an_inbox_row_with_another_body_is_no_duplicate() {
    for target in Target::both(ACCOUNTS).await {
        let sql = target.destination(PLUS_ONE);
        for _ in 0..2 {
            assert_eq!(
                sql.deliver(&event("evt_1", r#"{"account":"a"}"#)).await.reply,
                Reply::Done
            );
            let other = sql.deliver(&event("evt_1", r#"{"account":"b"}"#)).await;
            assert!(refusal(&other).contains("another body"), "{other:?}");
        }
        assert_eq!(
            target.number("select balance from accounts where id = 'b'").await,
            0
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_others_hold_delays_only_what_needs_it() {
    let target = Target::postgres(ACCOUNTS).await;
    let sql = target.destination(&format!("{PLUS_ONE}\ntimeout = \"3s\"\nconnections = 1"));
    let blocker = target.client().await;
    blocker
        .batch_execute("begin; update accounts set balance = balance where id = 'a'")
        .await
        .unwrap();
    let events = [
        event("evt_1", r#"{"account":"a"}"#),
        event("evt_2", r#"{"account":"b"}"#),
        event("evt_3", r#"{"account":"b"}"#),
    ];
    let answers = futures_util::future::join_all(events.iter().map(|event| sql.deliver(event))).await;
    assert!(
        matches!(&answers[0].reply, Reply::Failed { message, .. } if message.contains("SQLSTATE 55P03") || message.contains("SQLSTATE 57014") || message.contains("did not finish")),
        "{answers:?}"
    );
    assert_eq!(
        (&answers[1].reply, &answers[2].reply),
        (&Reply::Done, &Reply::Done)
    );
    blocker.batch_execute("commit").await.unwrap();
    for event in &events {
        assert_eq!(sql.deliver(event).await.reply, Reply::Done);
    }
    assert_eq!(
        target.number("select sum(balance)::bigint from accounts").await,
        3
    );
}

#[tokio::test]
async fn trouble_of_the_database_itself_is_tried_again() {
    let target = Target::postgres(ACCOUNTS).await;
    let client = target.client().await;
    client
        .batch_execute(
            "create function trouble() returns void language plpgsql as
             $$ begin raise exception 'could not extend file' using errcode = 'XX000'; end $$",
        )
        .await
        .unwrap();
    let sql = target.destination("id = \"app\"\nstatements = [\"select trouble()\"]");
    let event = event("evt_1", "{}");
    let answer = sql.deliver(&event).await;
    assert!(
        matches!(&answer.reply, Reply::Failed { message, .. } if message.contains("SQLSTATE XX000")),
        "{answer:?}"
    );
    client
        .batch_execute("create or replace function trouble() returns void language sql as 'select'")
        .await
        .unwrap();
    assert_eq!(sql.deliver(&event).await.reply, Reply::Done);
    assert_eq!(sql.deliver(&event).await.reply, Reply::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_is_tried_again_and_ends() {
    let target = Target::postgres(ACCOUNTS).await;
    let settings = |first: &str, second: &str| {
        format!(
            "id = \"app\"\nstatements = [\"update accounts set balance = balance + 1 where id = '{first}'\", \
             \"select pg_sleep(0.01)\", \"update accounts set balance = balance + 1 where id = '{second}'\"]"
        )
    };
    let (one, other) = (
        target.destination(&settings("a", "b")),
        target.destination(&settings("b", "a")),
    );
    let events: Vec<Leased> = (0..10)
        .map(|number| event(&format!("evt_{number}"), "{}"))
        .collect();
    let (mut left, mut rounds) = (events.iter().collect::<Vec<_>>(), 0);
    while !left.is_empty() {
        rounds += 1;
        assert!(rounds < 20, "it does not end");
        let answers = futures_util::future::join_all(left.iter().enumerate().map(|(place, event)| {
            let sql = if place % 2 == 0 { &one } else { &other };
            sql.deliver(event)
        }))
        .await;
        let failed = left
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| answer.reply != Reply::Done);
        left = failed.map(|(event, _)| *event).collect();
    }
    assert_eq!(
        target.number("select balance from accounts where id = 'a'").await,
        10
    );
    assert_eq!(
        target.number("select balance from accounts where id = 'b'").await,
        10
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_cut_is_made_again() {
    let target = Target::postgres(ACCOUNTS).await;
    let sql = target.destination(PLUS_ONE);
    for number in 0..4 {
        let event = event(&format!("evt_{number}"), r#"{"account":"a"}"#);
        target.cut_connections().await;
        let mut done = 0;
        // The first attempt may find the connection broken; the engine would retry.
        for _ in 0..3 {
            done += i32::from(sql.deliver(&event).await.reply == Reply::Done);
        }
        assert!(done >= 2);
    }
    assert_eq!(
        target.number("select balance from accounts where id = 'a'").await,
        4
    );
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_stopped_and_tried_again() {
    for target in Target::both(ACCOUNTS).await {
        let endless = target.endless();
        let sql = target.destination(&format!("timeout = \"300ms\"\nstatements = [\"{endless}\"]"));
        for _ in 0..2 {
            let started = std::time::Instant::now();
            let answer = sql.deliver(&event("evt_1", "{}")).await;
            assert!(
                matches!(
                    &answer.reply,
                    Reply::Failed {
                        class: ErrorClass::Timeout,
                        ..
                    }
                ),
                "{answer:?}"
            );
            assert!(started.elapsed() < Duration::from_secs(10));
        }
        assert_eq!(target.number("select count(*) from hapax_inbox").await, 0);
    }
}

#[tokio::test]
async fn a_database_that_is_not_there_is_tried_again() {
    let settings = "statements = [\"select 1\"]";
    for url in [
        "postgres://nobody@127.0.0.1:1/app",
        "sqlite:/no/such/folder/app.db",
    ] {
        let sql = database::destination(url, settings);
        for _ in 0..2 {
            let answer = sql.deliver(&event("evt_1", "{}")).await;
            assert!(
                matches!(
                    &answer.reply,
                    Reply::Failed {
                        class: ErrorClass::Connect,
                        ..
                    }
                ),
                "{answer:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_pgbouncer_each_event_is_applied_once_whether_or_not_it_is_noticed() {
    for parameter in ["", "&prepared_statements=true"] {
        let target = Target::postgres(ACCOUNTS).await;
        let (pooler, url) = target.behind_pgbouncer();
        let settings = format!("{PLUS_ONE}\nconnections = 4");
        let replicas = [(); 2].map(|()| database::destination(&format!("{url}{parameter}"), &settings));
        let events: Vec<Leased> = (0..60)
            .map(|number| event(&format!("evt_{number}"), r#"{"account":"b"}"#))
            .collect();
        let attempts = (0..2).flat_map(|round| {
            let replica = &replicas[round % 2];
            events.iter().map(move |event| replica.deliver(event))
        });
        let answers = futures_util::future::join_all(attempts).await;
        assert!(
            answers.iter().all(|answer| answer.reply == Reply::Done),
            "{parameter}: {answers:?}"
        );
        assert_eq!(
            target.number("select balance from accounts where id = 'b'").await,
            60
        );
        drop(pooler);
    }
}
