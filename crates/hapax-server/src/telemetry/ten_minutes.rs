//! What this process saw in the last ten minutes: for `hapax stats`, the API, the dashboard and the alerts.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::{DestinationId, SourceName};

use super::metrics::Metrics;
use super::window::{Figures, Percentiles, WINDOW};

/// Figures of the last ten minutes, of this process alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenMinutes {
    /// How much of the ten minutes this process was there for.
    pub watched_for: Duration,
    /// By source: what came, and how long the answers took.
    pub sources: BTreeMap<SourceName, Figures>,
    /// By destination: what attempts came to, and how long they took.
    pub destinations: BTreeMap<DestinationId, Figures>,
    /// How long durable writes took.
    pub store_write: Percentiles,
}

impl Metrics {
    /// The last ten minutes, of every source and destination that is known.
    pub fn last_ten_minutes(&self) -> TenMinutes {
        let now = self.clock.elapsed();
        let sources = self.sources.load();
        let destinations = self.destinations.load();
        TenMinutes {
            watched_for: now.min(WINDOW),
            sources: sources
                .iter()
                .map(|(name, meter)| (name.clone(), meter.window.figures(now)))
                .collect(),
            destinations: destinations
                .iter()
                .map(|(id, meter)| (id.clone(), meter.window.figures(now)))
                .collect(),
            store_write: self.store_writes.figures(now).took,
        }
    }
}
