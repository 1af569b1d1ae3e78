//! Webhooks in axum: verified before anything is parsed, and applied once.
//!
//! [`Webhook`] is an extractor: the verified event with its raw body. What you do with it is up to you; most likely you
//! call `Inbox::run` with [`Webhook::event`].
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
use hapax_core::json_pointer::json_text;
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

/// A verified event. The extractor takes the [`Source`] from the router's state; behind the layer, the event is in the
/// request's extensions.
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
    /// The event to claim: the source, the provider's own event id, and the hash of the body.
    pub const fn event(&self) -> &Event {
        &self.event
    }

    /// The provider's event type, such as `invoice.paid`.
    pub fn event_type(&self) -> Option<&str> {
        self.event_type.as_deref()
    }

    /// When the request's headers arrived.
    pub const fn received_at(&self) -> Timestamp {
        self.received_at
    }

    /// The signed time, in Unix seconds, if the scheme has one.
    pub const fn signed_at(&self) -> Option<i64> {
        self.signed_at
    }

    /// The index of the source's secret that matched, counted from 0. Once the old secret no longer matches any
    /// request, it can be removed.
    pub const fn secret_index(&self) -> Option<usize> {
        self.secret_index
    }

    /// The headers as they arrived.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The raw body, byte for byte; for a batch, this event's part of it.
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// Deserialises the body as JSON.
    pub fn json<'b, T: serde::Deserialize<'b>>(&'b self) -> serde_json::Result<T> {
        serde_json::from_slice(json_text(&self.body))
    }
}

/// Converts an [`Answer`] to an HTTP response.
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
