//! Transmissions whose body is not signed, such as PayPal's: the first body that comes with one is the only one.
//!
//! The store keeps the binding, so that it holds on every replica and across restarts. It is durable before the events are
//! accepted: where a process ends in between, the sender repeats the same body, and that fits.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::store::Binding;
use hapax_core::{BodyHash, Timestamp};
use hapax_verify::Transmission;

use super::{Inner, Source, refused};
use hapax_api::problem::Problem;

/// Clocks of replicas differ: a binding is kept for longer than any of them accepts the transmission.
const CLOCKS_DIFFER_MAX: Duration = Duration::from_secs(3600);

impl Inner {
    /// Refuses a body that is not the one that came with the transmission first.
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
