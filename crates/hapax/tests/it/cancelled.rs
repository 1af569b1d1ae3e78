//! A future that is dropped at any await point leaves no connection inside a transaction.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use hapax::{Event, Handling, Inbox, Outcome, driver};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::sqlx_postgres::Sqlx;
use crate::subject::{ADD, Subject as _};
use crate::tokio_postgres::TokioPostgres;

/// More await points than a run has.
const WAITS_MAX: usize = 40;

#[tokio::test]
async fn a_run_dropped_at_any_wait_is_whole_or_nothing_and_leaves_a_clean_connection() {
    let subject = Sqlx::new().await;
    let options = (*subject.pool.connect_options()).clone();
    // One connection: the next run meets whatever a dropped run leaves behind.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await
        .unwrap();
    let inbox = Inbox::new("billing").unwrap();
    for waits in 0..WAITS_MAX {
        let event = Event::new("stripe", format!("evt_{waits}")).unwrap();
        let run = || {
            inbox.run(&pool, &event, async |mut tx| {
                sqlx::query(ADD).execute(&mut *tx).await.map(drop)
            })
        };
        drop_after(waits, run()).await;
        assert_ne!(
            transaction(&pool).await,
            transaction(&pool).await,
            "after {waits} waits the connection is left inside a transaction"
        );
        let again = run().await.unwrap();
        assert_ne!(again, Outcome::InFlight);
        assert_eq!(
            subject.number("select balance from account").await,
            waits as i64 + 1
        );
    }
}

#[tokio::test]
async fn a_client_serves_the_next_run_whenever_the_one_before_was_dropped() {
    let subject = TokioPostgres::new().await;
    let mut client = subject.database.client().await.unwrap();
    let inbox = Inbox::new("billing").unwrap();
    for waits in 0..WAITS_MAX {
        let event = Event::new("stripe", format!("evt_{waits}")).unwrap();
        let add = async |tx: Handling<'_, driver::TokioPostgres>| tx.execute(ADD, &[]).await.map(drop);
        drop_after(waits, inbox.run(&mut client, &event, add)).await;
        let again = inbox.run(&mut client, &event, add).await.unwrap();
        assert_ne!(again, Outcome::InFlight);
        assert_eq!(
            subject.number("select balance from account").await,
            waits as i64 + 1
        );
    }
}

/// The id of the transaction on the pool's connection: different for each statement, unless one was left open.
async fn transaction(pool: &PgPool) -> String {
    let id = sqlx::query_scalar("select pg_current_xact_id()::text");
    id.fetch_one(pool).await.unwrap()
}

/// Polls at most this many times, then drops the future.
async fn drop_after<F: Future>(polls: usize, future: F) {
    let mut future = pin!(future);
    let mut polled = 0;
    std::future::poll_fn(|context| {
        if polled == polls {
            return Poll::Ready(());
        }
        polled += 1;
        future.as_mut().poll(context).map(drop)
    })
    .await;
}
