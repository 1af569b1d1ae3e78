//! A histogram of relaxed atomics: an observation on the hot path takes no lock.
//!
//! Apart from the HDR histograms in `window`: Prometheus adds up buckets with the same fixed bounds across replicas, and
//! each bucket has an exemplar.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hapax_core::{EventId, Timestamp};

use super::exemplar::{Exemplar, Slot};

/// Buckets for responses and durable writes: an SQLite commit takes a millisecond, and providers time out after ten to
/// thirty seconds. The lower bounds double, because there a change by a factor of two is what an operator wants to see.
pub(super) const SECONDS: &[f64] = &[
    0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Buckets for attempts: a local handler takes milliseconds, one that calls other services takes seconds, and a
/// `timeout` may be set to minutes. The alert's limit (5 s) and the default timeout (10 s) are bounds, so that
/// percentiles near them are accurate.
pub(super) const ATTEMPT_SECONDS: &[f64] = &[
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];
/// Buckets for the age of a duplicate: a provider's own retries arrive within seconds to days, a manual replay after
/// weeks. The common windows (7, 30 and 90 days) are bounds.
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
    7_776_000.0,
];
/// Buckets for the number of events in one write.
pub(super) const SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Clones share the same histogram.
#[derive(Clone, Debug)]
pub(super) struct Histogram(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bounds: &'static [f64],
    /// One more than there are bounds: the last is for everything above them.
    buckets: Vec<Bucket>,
    /// In millionths, so that it can be summed without a lock.
    sum_millionths: AtomicU64,
}

#[derive(Debug, Default)]
struct Bucket {
    count: AtomicU64,
    newest: Slot,
}

/// A snapshot of a histogram.
pub(super) struct Reading {
    /// For each bucket: its upper bound, the number of values at or below it, and an exemplar from this bucket alone.
    pub(super) buckets: Vec<(f64, u64, Option<Exemplar>)>,
    pub(super) sum: f64,
    pub(super) count: u64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| Bucket::default()).collect();
        Self(Arc::new(Inner {
            bounds,
            buckets,
            sum_millionths: AtomicU64::new(0),
        }))
    }

    pub(super) fn observe(&self, value: f64) {
        self.count(value);
    }

    /// The same for a value that belongs to one event, which may become the bucket's exemplar.
    pub(super) fn observe_event(&self, value: f64, event: EventId, at: Timestamp) {
        self.count(value).newest.offer(Exemplar { event, value, at });
    }

    pub(super) fn read(&self) -> Reading {
        let inner = &*self.0;
        let bounds = inner.bounds.iter().copied().chain([f64::INFINITY]);
        // The count is the sum of the buckets as they were read, so that the two agree.
        let mut count = 0;
        let buckets = bounds
            .zip(&inner.buckets)
            .map(|(bound, bucket)| {
                count += bucket.count.load(Ordering::Relaxed);
                (bound, count, bucket.newest.newest())
            })
            .collect();
        Reading {
            buckets,
            sum: inner.sum_millionths.load(Ordering::Relaxed) as f64 / 1e6,
            count,
        }
    }

    fn count(&self, value: f64) -> &Bucket {
        let inner = &*self.0;
        let place = inner
            .bounds
            .iter()
            .position(|bound| value <= *bound)
            .unwrap_or(inner.bounds.len());
        inner
            .sum_millionths
            .fetch_add((value * 1e6) as u64, Ordering::Relaxed);
        let bucket = &inner.buckets[place];
        bucket.count.fetch_add(1, Ordering::Relaxed);
        bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_a_cumulative_histogram() {
        let histogram = Histogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5] {
            histogram.observe(value);
        }
        let event = EventId::from_bytes([7; 16]);
        histogram.observe_event(9.0, event, Timestamp::from_seconds(5));
        let reading = histogram.read();
        let exemplar = Exemplar {
            event,
            value: 9.0,
            at: Timestamp::from_seconds(5),
        };
        assert_eq!(
            reading.buckets,
            [(1.0, 2, None), (2.0, 3, None), (f64::INFINITY, 4, Some(exemplar))]
        );
        assert_eq!(reading.count, 4);
        assert!((reading.sum - 12.0).abs() < f64::EPSILON);
    }
}
