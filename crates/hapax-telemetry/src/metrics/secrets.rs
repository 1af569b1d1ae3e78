//! The metrics of secrets that commands print.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;
use crate::catalogue::help;
use hapax_config::KeptSecrets;

/// The age of each secret.
#[derive(Default)]
pub(super) struct SecretMeter {
    age_seconds: Family<SecretLabel, Gauge<f64, AtomicU64>>,
    kept: OnceLock<KeptSecrets>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SecretLabel {
    secret: String,
}

impl SecretMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let meter = Self::default();
        let name = "secret_age_seconds";
        registry.register(name, help(&format!("hapax_{name}")), meter.age_seconds.clone());
        meter
    }

    /// Sets the current ages.
    pub(super) fn set(&self) {
        self.age_seconds.clear();
        for (secret, age) in self.kept.get().map(KeptSecrets::ages).unwrap_or_default() {
            let label = SecretLabel { secret };
            self.age_seconds.get_or_create(&label).set(age.as_secs_f64());
        }
    }
}

impl Metrics {
    /// Shows the ages of these secrets from now on.
    pub fn watch_secrets(&self, kept: &KeptSecrets) {
        // The first call wins: a process has one configuration.
        let _ = self.secrets.kept.set(kept.clone());
    }
}
