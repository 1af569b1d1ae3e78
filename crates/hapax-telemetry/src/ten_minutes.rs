//! The last ten minutes in this process: for `hapax stats`, the API, the dashboard and the alerts.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::{DestinationId, SourceName};

use super::metrics::Metrics;
use super::window::{Figures, Percentiles, WINDOW};

/// Figures of the last ten minutes, for this process only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TenMinutes {
    /// How much of the ten minutes this process has been running.
    pub watched_for: Duration,
    /// By source: requests received and response latency.
    pub sources: BTreeMap<SourceName, Figures>,
    /// By destination: results and latency of attempts.
    pub destinations: BTreeMap<DestinationId, Figures>,
    /// Latency of durable writes.
    pub store_write: Percentiles,
}

impl Metrics {
    /// The last ten minutes of every configured source and destination.
    pub fn last_ten_minutes(&self) -> TenMinutes {
        let now = self.clock.elapsed();
        let (sources, destinations) = (self.sources.load(), self.destinations.load());
        let configured = self.configured.load();
        let of_source = |name: &SourceName| Some((name.clone(), sources.get(name)?.window.figures(now)));
        let of_destination =
            |id: &DestinationId| Some((id.clone(), destinations.get(id)?.window.figures(now)));
        TenMinutes {
            watched_for: now.min(WINDOW),
            sources: configured.sources.keys().filter_map(of_source).collect(),
            destinations: configured
                .destinations
                .iter()
                .filter_map(of_destination)
                .collect(),
            store_write: self.store_writes.figures(now).took,
        }
    }
}
