//! What the service says about itself: structured logs and Prometheus metrics.

mod alerts;
pub mod catalogue;
mod exemplar;
mod exposition;
mod families;
mod format;
mod gap;
mod gauges;
mod histogram;
mod lines;
pub mod logging;
pub mod metrics;
mod refusals;
mod source;
mod ten_minutes;
mod traffic;
mod window;

use std::sync::Arc;

use hapax_engine::{Observation, Observer};

pub use format::Format;
pub use metrics::Metrics;
pub use refusals::{REFUSALS_MAX, Refusal, Refusals};
pub use source::SourceMeter;
pub use ten_minutes::TenMinutes;
pub use traffic::{Tally, TrafficBook};
pub use window::{Figures, Percentiles, WINDOW};

/// Hears what the engine does, counts it and writes it down.
#[derive(Debug)]
pub struct Watch {
    metrics: Arc<Metrics>,
}

impl Watch {
    /// Counts into `metrics`.
    pub const fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics }
    }
}

impl Observer for Watch {
    fn observe(&self, observation: &Observation<'_>) {
        self.metrics.count(observation);
        lines::write(observation);
    }
}
