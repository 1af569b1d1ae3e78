//! The effects of a completed checkout: the order is paid, the account grows, the customer gets a mail.
//!
//! None of it is idempotent, and none of it needs to be: all of it commits with the note that this event was applied.

use axum::Extension;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hapax::outbox::{self, Call};
use hapax::webhook::{Tx, Webhook};
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

/// The route. 2xx commits; anything else rolls back, and Stripe retries.
pub(crate) async fn completed(
    mut tx: Tx,
    Extension(webhook): Extension<Webhook>,
) -> Result<&'static str, Failure> {
    if webhook.event_type() != Some("checkout.session.completed") {
        return Ok("not ours");
    }
    let Completed {
        data: Data { object },
    } = webhook.json()?;
    let email = mark_paid(&mut tx, &object).await?;
    let mail =
        serde_json::json!({"to": email, "subject": format!("Order {} is paid", object.client_reference_id)});
    let call = Call::http(MAIL_URL)
        .header("content-type", "application/json")
        .body(mail.to_string());
    outbox::stage(&mut tx, call).await?;
    Ok("paid")
}

/// Marks the order paid, and returns the address to notify.
async fn mark_paid(tx: &mut Tx, session: &Session) -> Result<String, Failure> {
    sqlx::query("update account set balance = balance + $1")
        .bind(session.amount_total)
        .execute(&mut **tx)
        .await?;
    let update = "update orders set status = 'paid', payments = payments + 1 where id = $1 returning email";
    let email = sqlx::query_scalar(update)
        .bind(&session.client_reference_id)
        .fetch_optional(&mut **tx)
        .await?;
    email.ok_or(Failure::UnknownOrder)
}

/// Why an event was not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The order may not be written yet: Stripe retries.
    #[error("there is no such order")]
    UnknownOrder,
    #[error("the event cannot be read")]
    Unreadable(#[from] serde_json::Error),
    #[error("a statement failed")]
    Database(#[from] sqlx::Error),
    #[error("the mail was not staged")]
    Mail(#[from] hapax::Error),
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        // The cause is for our log, not for the caller.
        eprintln!(
            "an event was not applied: {self}: {:?}",
            std::error::Error::source(&self)
        );
        let status = match self {
            Self::UnknownOrder => StatusCode::NOT_FOUND,
            Self::Unreadable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Database(_) | Self::Mail(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, "the event was not applied; deliver it again").into_response()
    }
}
