//! The effects of a completed checkout: the order is paid, the account grows, the customer gets a mail.
//!
//! None of it is idempotent, and none of it needs to be: all of it commits with the note that this event was applied.

use hapax::Handling;
use hapax::driver::Rusqlite;
use hapax::outbox::{self, Call};
use hapax::webhook::Webhook;
use rusqlite::OptionalExtension as _;
use serde::Deserialize;

/// The mail service.
const MAIL_URL: &str = "http://127.0.0.1:2500/send";

/// Stripe's `checkout.session.completed`, with the fields that we use.
#[derive(Deserialize)]
struct Completed {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Session,
}

#[derive(Deserialize)]
struct Session {
    client_reference_id: String,
    amount_total: i64,
}

/// Why an event was not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The order may not be written yet: Stripe retries.
    #[error("there is no such order")]
    UnknownOrder,
    #[error("the event cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("a statement failed: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("the mail was not staged: {0}")]
    Mail(#[from] hapax::Error),
}

/// The handler, inside the transaction.
pub(crate) fn completed(tx: &mut Handling<'_, Rusqlite>, webhook: &Webhook) -> Result<(), Failure> {
    if webhook.event_type() != Some("checkout.session.completed") {
        return Ok(());
    }
    let Completed {
        data: Data { object },
    } = webhook.json()?;
    tx.execute("update account set balance = balance + ?1", [object.amount_total])?;
    let update = "update orders set status = 'paid', payments = payments + 1 where id = ?1 returning email";
    let email: Option<String> = tx
        .query_row(update, [&object.client_reference_id], |row| row.get(0))
        .optional()?;
    let email = email.ok_or(Failure::UnknownOrder)?;
    let mail =
        serde_json::json!({"to": email, "subject": format!("Order {} is paid", object.client_reference_id)});
    let call = Call::http(MAIL_URL)
        .header("content-type", "application/json")
        .body(mail.to_string());
    Ok(outbox::stage(tx, call)?)
}
