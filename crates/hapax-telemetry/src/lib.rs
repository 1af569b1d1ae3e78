//! Telemetry: structured logs, Prometheus metrics and OpenTelemetry traces.

mod bodies;
pub mod catalogue;
mod exemplar;
mod exposition;
mod families;
mod format;
mod gap;
mod histogram;
pub mod lines;
pub mod logging;
#[cfg(test)]
mod logging_page;
mod meter;
pub mod metrics;
pub mod outbox_health;
mod refusals;
mod source;
mod ten_minutes;
mod tls;
pub mod traces;
mod traffic;
mod window;

use std::sync::Arc;

use hapax_engine::{Observation, Observer};

pub use format::Format;
pub use meter::{Meter, SourceCounts};
pub use metrics::Metrics;
pub use refusals::{REFUSALS_MAX, Refusal, Refusals};
pub use source::SourceMeter;
pub use ten_minutes::TenMinutes;
pub use tls::TlsMeter;
pub use traces::Tracer;
pub use traffic::{Tally, TrafficBook};
pub use window::{Figures, Percentiles, WINDOW};

/// The error and its chain of causes.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// Observes the engine, and records metrics, log lines and spans.
#[derive(Debug)]
pub struct Watch {
    metrics: Arc<Metrics>,
    tracer: Tracer,
}

impl Watch {
    /// Counts into `metrics`, and records attempts as spans in `tracer`.
    pub const fn new(metrics: Arc<Metrics>, tracer: Tracer) -> Self {
        Self { metrics, tracer }
    }
}

impl Observer for Watch {
    fn observe(&self, observation: &Observation<'_>) {
        self.metrics.count(observation);
        if let Observation::Attempted {
            delivery,
            attempt,
            took,
            outcome,
        } = observation
        {
            self.tracer.attempted(delivery, attempt, *took, *outcome);
        }
        lines::write(observation);
    }
}
