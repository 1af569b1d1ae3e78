//! `hapax_spans_total`: the results of exporting spans.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::catalogue::help;

/// The results of exporting spans. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub struct SpanCounts {
    /// Accepted by the receiver.
    pub exported: Counter,
    /// The queue had no room.
    pub dropped: Counter,
    /// Not accepted by the receiver.
    pub failed: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

impl SpanCounts {
    /// Registers the counters as `hapax_spans_total`, at zero.
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
