//! A histogram of relaxed atomics: an observation on the hot path takes no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Buckets for times from half a millisecond to ten seconds.
pub(super) const SECONDS: &[f64] = &[
    0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// Buckets for the age of a copy: from a second to thirty days.
pub(super) const AGES: &[f64] = &[
    1.0,
    10.0,
    60.0,
    300.0,
    1800.0,
    3600.0,
    21_600.0,
    86_400.0,
    259_200.0,
    604_800.0,
    2_592_000.0,
];
/// Buckets for events in one write.
pub(super) const SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// A histogram; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Histogram(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bounds: &'static [f64],
    /// One more than bounds: the last is for everything above.
    counts: Vec<AtomicU64>,
    /// In millionths, so that it adds up without a lock.
    sum_millionths: AtomicU64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Inner {
            bounds,
            counts,
            sum_millionths: AtomicU64::new(0),
        }))
    }

    pub(super) fn observe(&self, value: f64) {
        let inner = &*self.0;
        let bucket = inner
            .bounds
            .iter()
            .position(|bound| value <= *bound)
            .unwrap_or(inner.bounds.len());
        inner.counts[bucket].fetch_add(1, Ordering::Relaxed);
        inner
            .sum_millionths
            .fetch_add((value * 1e6) as u64, Ordering::Relaxed);
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let inner = &*self.0;
        let bounds = inner.bounds.iter().copied().chain([f64::INFINITY]);
        let counts = inner.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        // The count is the sum of the buckets as they were read, so that the two agree.
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = inner.sum_millionths.load(Ordering::Relaxed) as f64 / 1e6;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn it_is_encoded_as_a_cumulative_histogram() {
        let histogram = Histogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5, 9.0] {
            histogram.observe(value);
        }
        let mut registry = Registry::default();
        registry.register("h", "A histogram", histogram);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "h_sum 12.0",
            "h_count 4",
            "h_bucket{le=\"1.0\"} 2",
            "h_bucket{le=\"2.0\"} 3",
            "h_bucket{le=\"+Inf\"} 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
