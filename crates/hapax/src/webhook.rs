//! Webhooks: verified before anything is parsed, and applied once.
//!
//! A [`Source`] turns a request into verified events, in any framework. With axum, [`Webhook`] is an extractor: the
//! verified event with its raw body. What you do with it is up to you; most likely you call `Inbox::run` with
//! [`Webhook::event`].
#![cfg_attr(
    all(feature = "axum", feature = "sqlx-postgres"),
    doc = "\n[`InboxLayer`] does all of it for a route: verify, claim, run the handler in the transaction, commit."
)]

#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "axum")]
mod extract;
#[cfg(all(feature = "axum", feature = "sqlx-postgres"))]
mod handled;
mod head;
mod insisted;
#[cfg(all(feature = "axum", feature = "sqlx-postgres"))]
mod layer;
mod receive;
mod refused;
mod source;
#[cfg(all(feature = "axum", feature = "sqlx-postgres"))]
mod tx;
mod via_hapax;

use bytes::Bytes;
use hapax_core::json_pointer::json_text;
use hapax_core::{Clock as _, SystemClock};
use http::HeaderMap;

#[cfg(feature = "axum")]
pub use extract::Webhooks;
pub use hapax_core::Timestamp;
pub use head::Head;
#[cfg(all(feature = "axum", feature = "sqlx-postgres"))]
pub use layer::{InboxLayer, InboxService};
pub use refused::{Reason, Refused};
pub use source::{GATEWAY_PRESET, Source, SourceError};
#[cfg(all(feature = "axum", feature = "sqlx-postgres"))]
pub use tx::{NoTransaction, Tx};
pub use via_hapax::ViaHapax;

use crate::event::Event;

/// A verified event. As an extractor of axum it takes the [`Source`] from the router's state; behind the layer, the event
/// is in the request's extensions.
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{Router, routing::post};
/// use hapax::webhook::{Source, Webhook};
///
/// async fn paid(webhook: Webhook) -> String {
///     format!("{} of type {:?}", webhook.event().event_id(), webhook.event_type())
/// }
///
/// let stripe = Source::provider("stripe", &["whsec_test"])?;
/// let app: Router = Router::new().route("/webhooks/stripe", post(paid)).with_state(stripe);
/// # }
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
    via_hapax: Option<ViaHapax>,
}

/// The current time, for [`Source::receive`].
pub fn now() -> Timestamp {
    SystemClock::default().now()
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

    /// The position inside a batch, counted from 0; `None` for a request with one event.
    pub const fn batch_index(&self) -> Option<u32> {
        self.batch_index
    }

    /// What the gateway says about the delivery, if it comes from [`Source::hapax`].
    pub const fn via_hapax(&self) -> Option<&ViaHapax> {
        self.via_hapax.as_ref()
    }

    /// Deserialises the body as JSON.
    pub fn json<'b, T: serde::Deserialize<'b>>(&'b self) -> serde_json::Result<T> {
        serde_json::from_slice(json_text(&self.body))
    }
}
