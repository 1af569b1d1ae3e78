//! Events that share a transaction with one that the database refuses: exactly that one fails, whenever and however the
//! database reports it.

use std::time::{Duration, Instant};

use hapax_core::{ErrorClass, Leased};
use hapax_engine::{AttemptResult, Reply};

use super::database::Target;
use super::{event, refusal};

const FAMILY: &str = "
    create table parents (id text primary key);
    insert into parents values ('a');
    create table children (event text, parent text);";

const BIRTH: &str = r#"params = { event = "event_id", parent = "body:/parent" }
statements = ["insert into children values (:event, :parent)"]"#;

const BAD: usize = 13;

/// Thirty events, one of them with an unknown parent.
fn thirty() -> Vec<Leased> {
    (0..30)
        .map(|number| {
            let parent = if number == BAD { "nobody" } else { "a" };
            event(&format!("evt_{number}"), &format!(r#"{{"parent":"{parent}"}}"#))
        })
        .collect()
}

/// Delivers the thirty at the same moment, twice, and returns the two results of the bad one. All others succeed.
async fn bad_among_thirty(target: &Target, settings: &str) -> [AttemptResult; 2] {
    let sql = target.destination(settings);
    let events = thirty();
    let mut told = Vec::new();
    for _ in 0..2 {
        let attempts = events.iter().map(|event| sql.deliver(event));
        let mut answers = futures_util::future::join_all(attempts).await;
        told.push(answers.remove(BAD));
        let failed: Vec<&AttemptResult> = answers.iter().filter(|one| one.reply != Reply::Done).collect();
        assert!(failed.is_empty(), "{settings}: {failed:?}");
    }
    let claimed = "select count(*) from hapax_inbox";
    assert_eq!(target.number(claimed).await, 29, "{settings}");
    let claimed = "select count(*) from hapax_inbox where event_id = 'evt_13'";
    assert_eq!(target.number(claimed).await, 0, "{settings}");
    told.try_into().unwrap()
}

/// There are 29 children, each once.
async fn born_once(target: &Target) {
    assert_eq!(target.number("select count(*) from children").await, 29);
    assert_eq!(
        target.number("select count(distinct event) from children").await,
        29
    );
}

#[tokio::test]
async fn an_event_that_breaks_a_deferred_foreign_key_fails_alone() {
    let tables = "
        create table parents (id text primary key);
        insert into parents values ('a');
        create table children (event text, parent text references parents (id) deferrable initially deferred);";
    for target in Target::both(tables).await {
        for answer in bad_among_thirty(&target, BIRTH).await {
            let message = refusal(&answer);
            assert!(message.contains(target.foreign_key_violation()), "{message}");
        }
        born_once(&target).await;
    }
}

#[tokio::test]
async fn an_event_that_a_deferred_trigger_refuses_fails_alone() {
    let target = Target::postgres(&format!(
        "{FAMILY}
         create function refuse() returns trigger language plpgsql as
         $$ begin if new.parent = 'nobody' then raise exception 'unknown'; end if; return null; end $$;
         create constraint trigger late after insert on children deferrable initially deferred
         for each row execute function refuse();"
    ))
    .await;
    for answer in bad_among_thirty(&target, BIRTH).await {
        assert!(refusal(&answer).contains("SQLSTATE P0001"), "{answer:?}");
    }
    born_once(&target).await;
}

#[tokio::test]
async fn an_event_that_ends_the_session_fails_alone() {
    let target = Target::postgres(&format!(
        "{FAMILY}
         create function leave() returns trigger language plpgsql as $$ begin
             if new.parent = 'nobody' then perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(60); end if;
             return new; end $$;
         create trigger leaves before insert on children for each row execute function leave();"
    ))
    .await;
    for answer in bad_among_thirty(&target, BIRTH).await {
        let expected = matches!(
            &answer.reply,
            Reply::Failed {
                class: ErrorClass::Connect,
                ..
            }
        );
        assert!(expected, "{answer:?}");
    }
    born_once(&target).await;
}

#[tokio::test]
async fn an_event_whose_statement_rolls_the_transaction_back_fails_alone() {
    let trigger = format!(
        "{FAMILY}
         create trigger refuses before insert on children when new.parent = 'nobody'
         begin select raise(rollback, 'unknown'); end;"
    );
    let check = "create table children (event text, parent text check (parent <> 'nobody'));";
    let or_rollback = BIRTH.replace("insert into", "insert or rollback into");
    for (tables, settings) in [(trigger.as_str(), BIRTH), (check, or_rollback.as_str())] {
        let target = Target::sqlite(tables);
        for answer in bad_among_thirty(&target, settings).await {
            assert!(refusal(&answer).contains("SQLite error"), "{answer:?}");
        }
        born_once(&target).await;
    }
}

/// Delivers the thirty at the same moment. The bad one times out, and all others succeed before that.
async fn slow_among_thirty(target: &Target, settings: &str) {
    let sql = target.destination(&format!("timeout = \"4s\"\n{settings}"));
    let events = thirty();
    let started = Instant::now();
    let sql = &sql;
    let timed = |event| async move {
        let answer = sql.deliver(event).await;
        (answer, started.elapsed())
    };
    let answers = futures_util::future::join_all(events.iter().map(timed)).await;
    for (number, (answer, after)) in answers.iter().enumerate() {
        if number == BAD {
            let timed_out = matches!(
                &answer.reply,
                Reply::Failed {
                    class: ErrorClass::Timeout,
                    ..
                }
            );
            assert!(timed_out, "{answer:?}");
        } else {
            assert_eq!(answer.reply, Reply::Done, "{number}");
            assert!(*after < Duration::from_secs(4), "{number} after {after:?}");
        }
    }
    for event in events.iter().skip(BAD + 1) {
        assert_eq!(sql.deliver(event).await.reply, Reply::Done);
    }
    born_once(target).await;
}

#[tokio::test]
async fn an_event_that_takes_too_long_fails_alone_and_holds_up_nobody() {
    for target in Target::both(FAMILY).await {
        let endless = target.endless_where(":parent = 'nobody'");
        let settings = format!(
            "params = {{ event = \"event_id\", parent = \"body:/parent\" }}\n\
             statements = [\"insert into children values (:event, :parent)\", \"{endless}\"]"
        );
        slow_among_thirty(&target, &settings).await;
    }
}

#[tokio::test]
async fn an_event_that_takes_too_long_at_commit_fails_alone_and_holds_up_nobody() {
    let target = Target::postgres(&format!(
        "{FAMILY}
         create function dawdle() returns trigger language plpgsql as
         $$ begin if new.parent = 'nobody' then perform pg_sleep(60); end if; return null; end $$;
         create constraint trigger late after insert on children deferrable initially deferred
         for each row execute function dawdle();"
    ))
    .await;
    slow_among_thirty(&target, BIRTH).await;
}
