//! The likely mistake behind a refusal, for the log and for operators.
//!
//! It is never revealed to the client that sent the request. Anyone can cause refusals at will, and a diagnosis costs a
//! few hundred verifications, so it is made after the response, outside the request path, and at a limited rate.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax_core::{SourceName, Timestamp};
use hapax_verify::diagnose::{Holder, Mistake, Suspect};
use hapax_verify::limits::DIAGNOSIS_BODY_BYTES_MAX;
use hapax_verify::{Rejection, Verifier};
use http::request::Parts;
use parking_lot::Mutex;

use super::source::Sources;
use hapax_api::problem::Code;
use hapax_telemetry::SourceMeter;

/// The minimum time between two diagnoses.
const INTERVAL: Duration = Duration::from_secs(1);

/// Limits the rate of diagnoses.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Option<Duration>>);

impl Pace {
    /// Whether a diagnosis may be made now. If so, the next one has to wait.
    pub(super) fn admits(&self, now: Duration) -> bool {
        let mut last = self.0.lock();
        let admitted = last.is_none_or(|last| now.saturating_sub(last) >= INTERVAL);
        if admitted {
            *last = Some(now);
        }
        admitted
    }
}

/// Whether this refusal can be diagnosed.
pub(super) fn is_open(rejection: &Rejection, body: &Bytes) -> bool {
    rejection.status() == 401 && body.len() <= DIAGNOSIS_BODY_BYTES_MAX
}

/// A refused request, kept for its diagnosis.
pub(super) struct Case {
    pub(super) sources: Arc<Sources>,
    pub(super) source: SourceName,
    pub(super) meter: Arc<SourceMeter>,
    pub(super) verifier: Arc<Verifier>,
    pub(super) url: String,
    pub(super) head: Parts,
    pub(super) body: Bytes,
    pub(super) received_at: Timestamp,
    pub(super) code: Code,
}

impl Case {
    /// Logs the likely mistake and stores it with the refusal, on a thread that serves no requests.
    pub(super) fn explain_later(self) {
        tokio::task::spawn_blocking(move || {
            if let Some(likely) = self.likely() {
                self.meter.explain(self.received_at, likely.to_string());
                tracing::warn!(
                    source = %self.source,
                    code = self.code.as_str(),
                    likely = %likely,
                    "request refused for a known reason"
                );
            }
        });
    }

    fn likely(&self) -> Option<Mistake> {
        let request =
            hapax_verify::Request::new(&self.head.headers, &self.body, self.received_at.as_seconds())
                .method(self.head.method.as_str())
                .url(&self.url)
                .query(self.head.uri.query().unwrap_or_default());
        let others = self.sources.iter().filter(|other| other.name != self.source);
        let suspects: Vec<Suspect<'_>> = others
            .map(|other| Suspect {
                holder: Holder::Source(other.name.as_str()),
                verifier: &other.verifier,
            })
            .collect();
        self.verifier.diagnose(&request, &suspects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_diagnosis_has_to_wait() {
        let pace = Pace::default();
        let at = Duration::from_millis;
        assert!(pace.admits(at(10)));
        assert!(!pace.admits(at(10)));
        assert!(!pace.admits(at(1009)));
        assert!(pace.admits(at(1010)));
        assert!(!pace.admits(at(1011)));
    }
}
