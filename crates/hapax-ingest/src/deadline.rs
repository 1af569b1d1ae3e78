//! The time by which a request must be answered, regardless of the store.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Source, refused};
use hapax_api::problem::Problem;

/// The deadline of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at: Instant,
    within: Duration,
}

impl Deadline {
    /// The deadline for a request to this source that has just arrived in full.
    pub(super) fn of(source: &Source) -> Self {
        Self {
            at: Instant::now() + source.answer_within,
            within: source.answer_within,
        }
    }

    /// The result of `work`, or an error if it does not complete in time.
    pub(super) async fn keep<T>(self, work: impl Future<Output = T>) -> Result<T, Problem> {
        timeout_at(self.at, work)
            .await
            .map_err(|_| refused::store_silent(self.within))
    }
}
