//! The metrics of encryption at rest.

use std::sync::atomic::AtomicU64;

use hapax_seal::Counted;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;
use crate::catalogue::help;

/// The number of values by key, and of those re-encrypted under another key.
#[derive(Default)]
pub(super) struct EncryptionMeter {
    values: Family<KeyLabel, Gauge<u64, AtomicU64>>,
    rewritten: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KeyLabel {
    key: String,
}

impl EncryptionMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let meter = Self::default();
        let values = "encrypted_values";
        registry.register(values, help(&format!("hapax_{values}")), meter.values.clone());
        let rewritten = "reencrypted_values";
        let help = help(&format!("hapax_{rewritten}_total"));
        registry.register(rewritten, help, meter.rewritten.clone());
        meter
    }
}

impl Metrics {
    /// Sets the result of a walk over all rows.
    pub fn encrypted_values(&self, counted: &Counted) {
        self.encryption.values.clear();
        for (key, count) in &counted.values {
            let label = KeyLabel { key: key.clone() };
            self.encryption.values.get_or_create(&label).set(*count);
        }
    }

    /// Counts values that were re-encrypted under the first key.
    pub fn reencrypted(&self, values: u64) {
        self.encryption.rewritten.inc_by(values);
    }
}
