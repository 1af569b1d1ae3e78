//! A shop that is paid by Stripe: every payment is booked exactly once.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRef, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use hapax::answer::Answer;
use hapax::driver::Rusqlite;
use hapax::webhook::{Source, Webhook};
use hapax::{Handling, Inbox, Outcome, RunError};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

pub type Failure = Box<dyn Error + Send + Sync>;

/// Clones share the connection: SQLite has one writer.
#[derive(Clone)]
pub struct Shop {
    source: Source,
    inbox: Inbox,
    connection: Arc<Mutex<Connection>>,
}

/// Stripe's event, with the fields that we use.
#[derive(Deserialize)]
struct StripeEvent {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    amount: i64,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Payment {
    pub event_id: String,
    pub amount: i64,
}

impl Shop {
    pub fn open(file: &Path, source: Source) -> Result<Self, Failure> {
        let connection = Connection::open(file)?;
        connection.execute_batch("pragma journal_mode = wal")?;
        connection.execute_batch(include_str!("../schema.sql"))?;
        hapax::create_tables(&connection)?;
        Ok(Self {
            source,
            inbox: Inbox::new("shop")?,
            connection: Arc::new(Mutex::new(connection)),
        })
    }

    pub fn router(self) -> Router {
        Router::new()
            .route("/webhooks/stripe", post(stripe))
            .route("/payments", get(payments))
            .with_state(self)
    }

    /// Claims the event and books it in one transaction: both commit, or neither does.
    fn apply(&self, webhook: &Webhook) -> Result<Outcome<()>, RunError<Failure>> {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.inbox
            .run_blocking(&mut connection, webhook.event(), |mut tx| {
                book(&mut tx, webhook)
            })
    }

    pub fn payments(&self) -> rusqlite::Result<Vec<Payment>> {
        let connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection.prepare("select event_id, amount from payments")?;
        let rows = statement.query_map([], |row| {
            Ok(Payment {
                event_id: row.get(0)?,
                amount: row.get(1)?,
            })
        })?;
        rows.collect()
    }
}

/// The work. An error rolls it back together with the claim, and Stripe retries.
fn book(tx: &mut Handling<'_, Rusqlite>, webhook: &Webhook) -> Result<(), Failure> {
    if webhook.event_type() != Some("payment_intent.succeeded") {
        return Ok(());
    }
    let event: StripeEvent = webhook.json()?;
    tx.execute(
        "insert into payments (event_id, amount) values (?1, ?2)",
        (webhook.event().event_id(), event.data.object.amount),
    )?;
    Ok(())
}

/// Verified by the extractor, before anything is parsed.
async fn stripe(State(shop): State<Shop>, webhook: Webhook) -> Answer {
    let event_id = webhook.event().event_id().to_owned();
    // A thread that may block, and goes on if the client hangs up.
    match tokio::task::spawn_blocking(move || shop.apply(&webhook)).await {
        Ok(Ok(outcome)) => Answer::of_outcome(&outcome, &event_id),
        Ok(Err(error)) => {
            eprintln!("{event_id} was not applied: {error}");
            Answer::of_error(&error)
        }
        Err(_) => Answer::handler_failed(),
    }
}

async fn payments(State(shop): State<Shop>) -> Json<Vec<Payment>> {
    Json(shop.payments().unwrap_or_default())
}

/// The extractor finds the source in the state.
impl FromRef<Shop> for Source {
    fn from_ref(shop: &Shop) -> Self {
        shop.source.clone()
    }
}
