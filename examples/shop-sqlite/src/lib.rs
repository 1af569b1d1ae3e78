//! The shop: one writing connection, and a route that passes each event to it.
//!
//! SQLite's driver blocks and SQLite has one writer, so the route takes the verified event with the extractor, and the
//! work runs on a thread that may block.

mod checkout;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::routing::post;
use hapax::answer::Answer;
use hapax::webhook::{Source, Webhook};
use hapax::{Inbox, Outcome, RunError};
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::checkout::Failure;

/// The shop. Clones share it.
#[derive(Clone)]
pub struct Shop {
    source: Source,
    inbox: Inbox,
    connection: Arc<Mutex<Connection>>,
}

impl Shop {
    /// Opens the shop's file, and creates its tables.
    pub fn open(file: &Path, source: Source) -> anyhow::Result<Self> {
        let connection = Connection::open(file)?;
        connection.execute_batch("pragma journal_mode = wal; pragma synchronous = full")?;
        hapax::create_tables(&connection)?;
        connection.execute_batch(include_str!("../schema.sql"))?;
        Ok(Self {
            source,
            inbox: Inbox::new("shop")?,
            connection: Arc::new(Mutex::new(connection)),
        })
    }

    pub fn router(self) -> Router {
        Router::new()
            .route("/webhooks/stripe", post(stripe))
            .with_state(self)
    }

    fn apply(&self, webhook: &Webhook) -> Result<Outcome<()>, RunError<Failure>> {
        // A handler that panicked has rolled back: the connection is still good.
        let mut connection = self.connection.lock();
        self.inbox
            .run_blocking(&mut connection, webhook.event(), |mut tx| {
                checkout::completed(&mut tx, webhook)
            })
    }
}

/// The extractor finds the source in the state.
impl FromRef<Shop> for Source {
    fn from_ref(shop: &Shop) -> Self {
        shop.source.clone()
    }
}

async fn stripe(State(shop): State<Shop>, webhook: Webhook) -> Answer {
    // A separate task: it continues when the sender hangs up.
    let event_id = webhook.event().event_id().to_owned();
    let applied = tokio::task::spawn_blocking(move || shop.apply(&webhook)).await;
    match applied {
        Ok(Ok(outcome)) => Answer::of_outcome(&outcome, &event_id),
        Ok(Err(error)) => {
            // The cause is for our log, not for the caller.
            eprintln!("{event_id} was not applied: {error}");
            Answer::of_error(&error)
        }
        Err(_) => Answer::handler_failed(),
    }
}
