//! The alerts' part of the configuration; swapped whole on a reload.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Clock, DestinationId, SourceName};

use super::receiver::Receiver;
use hapax_api::alert::Rule;
use hapax_config::Config;
use hapax_delivery::destination::SetupError;
use hapax_delivery::outbox::full_name;
use hapax_outbound::client::Client;

/// The longest interval between two evaluations.
const EVALUATE_EVERY: Duration = Duration::from_secs(10);
/// A rule that stays true is evaluated at least this often before its alert could be considered resolved.
const EVALUATIONS_BEFORE_RESOLVED: u32 = 3;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) limits: BTreeMap<Rule, f64>,
    pub(super) resolve_after: Duration,
    pub(super) receivers: BTreeMap<String, Arc<Receiver>>,
    pub(super) windows: BTreeMap<SourceName, Duration>,
    pub(super) names: BTreeMap<DestinationId, String>,
}

impl Plan {
    pub(super) fn new(config: &Config, client: &Client, clock: &Arc<dyn Clock>) -> Result<Self, SetupError> {
        let receivers = config.alerts.receivers.iter().map(|(name, receiver)| {
            let receiver = Receiver::new(name, receiver, client, clock)?;
            Ok((name.clone(), Arc::new(receiver)))
        });
        let sources = config.sources.values();
        let destinations = config.destinations.values();
        Ok(Self {
            limits: config.alerts.limits.clone(),
            resolve_after: config.alerts.resolve_after,
            receivers: receivers.collect::<Result<_, SetupError>>()?,
            windows: sources
                .map(|source| (source.name.clone(), source.ledger_window))
                .collect(),
            // An outbox is its own destination, under its display name.
            names: destinations
                .map(|destination| (destination.id.clone(), destination.name.clone()))
                .chain(config.outboxes.keys().map(|name| {
                    let name = full_name(name);
                    (DestinationId::from(name.as_str()), name)
                }))
                .collect(),
        })
    }

    /// The interval between two evaluations.
    pub(super) fn evaluate_every(&self) -> Duration {
        EVALUATE_EVERY.min(self.resolve_after / EVALUATIONS_BEFORE_RESOLVED)
    }
}
