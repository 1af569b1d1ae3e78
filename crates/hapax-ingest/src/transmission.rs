//! Transmissions whose body is not signed, such as PayPal's: only the first body that arrives with a transmission is
//! accepted.
//!
//! The store keeps the binding, so that it holds on every replica and across restarts. It is durable before the events
//! are accepted: if a process ends in between, the provider sends the same body again, and that matches.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::store::Binding;
use hapax_core::{BodyHash, Timestamp};
use hapax_verify::Transmission;

use super::{Inner, Source, refused};
use hapax_api::problem::Problem;

/// Replicas' clocks differ, so a binding is kept for longer than any of them accepts the transmission.
const CLOCKS_DIFFER_MAX: Duration = Duration::from_secs(3600);

impl Inner {
    /// Refuses a body that differs from the first one that arrived with the transmission.
    pub(super) async fn bind(
        &self,
        source: &Source,
        transmission: &Transmission,
        body: &Bytes,
    ) -> Result<(), Problem> {
        let binding = Binding {
            scope: source.scope.clone(),
            name: transmission.id.clone(),
            raw_hash: BodyHash::of(body),
            until: Timestamp::from_seconds(transmission.valid_until).plus(CLOCKS_DIFFER_MAX),
        };
        match self.engine.store().bind(binding).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(refused::transmission_reused(&transmission.id)),
            Err(error) => {
                tracing::warn!(source = %source.name, %error, "a transmission could not be remembered");
                Err(refused::store_unavailable())
            }
        }
    }
}
