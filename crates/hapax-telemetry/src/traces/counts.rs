//! `hapax_spans_total`: what became of spans.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::catalogue::help;

/// What became of spans. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct SpanCounts {
    /// The receiver has taken them.
    pub exported: Counter,
    /// There was no room for them.
    pub dropped: Counter,
    /// The receiver has not taken them.
    pub failed: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

impl SpanCounts {
    /// At zero, and shown under `hapax_spans_total`.
    pub fn register(registry: &mut Registry) -> Self {
        let family = Family::<ResultLabel, Counter>::default();
        registry.register("spans", help("hapax_spans_total"), family.clone());
        let count = |result| family.get_or_create_owned(&ResultLabel { result });
        Self {
            exported: count("exported"),
            dropped: count("dropped"),
            failed: count("failed"),
        }
    }
}
