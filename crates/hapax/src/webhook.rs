//! Webhooks in axum: verified before anything is parsed, applied once.
//!
//! [`Webhook`] is an extractor: the verified envelope with the raw body. What to do with it is yours, most
//! likely `Inbox::run` with [`Webhook::event`].
#![cfg_attr(
    feature = "sqlx-postgres",
    doc = "\n[`InboxLayer`] does all of it for a route: verify, claim, run the handler in the transaction, commit."
)]

mod extract;
mod insisted;
#[cfg(feature = "sqlx-postgres")]
mod layer;
mod receive;
mod refused;
mod source;
#[cfg(feature = "sqlx-postgres")]
mod tx;

use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use hapax_core::Timestamp;
use hapax_core::store::json_text;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};

pub use extract::Webhooks;
#[cfg(feature = "sqlx-postgres")]
pub use layer::{InboxLayer, InboxService};
pub use refused::Refused;
pub use source::{Source, SourceError};
#[cfg(feature = "sqlx-postgres")]
pub use tx::{NoTransaction, Tx};

use crate::answer::Answer;
use crate::event::Event;

/// A verified event. As an extractor it takes the [`Source`] from the router's state; behind the layer it is
/// in the request's extensions.
///
/// ```
/// use axum::{Router, routing::post};
/// use hapax::webhook::{Source, Webhook};
///
/// async fn paid(webhook: Webhook) -> String {
///     format!("{} of type {:?}", webhook.event().event_id(), webhook.event_type())
/// }
///
/// let stripe = Source::provider("stripe", &["whsec_test"])?;
/// let app: Router = Router::new().route("/webhooks/stripe", post(paid)).with_state(stripe);
/// # Ok::<(), hapax::webhook::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Webhook {
    event: Event,
    event_type: Option<String>,
    received_at: Timestamp,
    signed_at: Option<i64>,
    secret_index: Option<usize>,
    headers: HeaderMap,
    body: Bytes,
    batch_index: Option<u32>,
}

impl Webhook {
    /// What to claim: source, the sender's own event id, and the hash of the body.
    pub const fn event(&self) -> &Event {
        &self.event
    }

    /// The sender's type of the event, such as `invoice.paid`.
    pub fn event_type(&self) -> Option<&str> {
        self.event_type.as_deref()
    }

    /// When its head arrived here.
    pub const fn received_at(&self) -> Timestamp {
        self.received_at
    }

    /// The time under the signature, in unix seconds, where the scheme has one.
    pub const fn signed_at(&self) -> Option<i64> {
        self.signed_at
    }

    /// Which of the source's secrets matched, counted from 0: once it is never the old one, that one can go.
    pub const fn secret_index(&self) -> Option<usize> {
        self.secret_index
    }

    /// The headers as they arrived.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The raw body, byte for byte (of a batch: the event's part of it).
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body read as JSON.
    pub fn json<'b, T: serde::Deserialize<'b>>(&'b self) -> serde_json::Result<T> {
        serde_json::from_slice(json_text(&self.body))
    }
}

/// An [`Answer`] as it goes out.
impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, self.body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        response
    }
}
