//! The last ten minutes in this process: for `hapax stats`, the API, the dashboard and the alerts.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::{DestinationId, SourceName};

use super::window::{Figures, Percentiles};

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
