//! When a sender must have its answer, whatever the store does.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Source, refused};
use hapax_api::problem::Problem;

/// The end of the time that one delivery has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at: Instant,
    within: Duration,
}

impl Deadline {
    /// For a delivery to this source that has arrived in full just now.
    pub(super) fn of(source: &Source) -> Self {
        Self {
            at: Instant::now() + source.answer_within,
            within: source.answer_within,
        }
    }

    /// What comes of it in time.
    pub(super) async fn keep<T>(self, work: impl Future<Output = T>) -> Result<T, Problem> {
        timeout_at(self.at, work)
            .await
            .map_err(|_| refused::store_silent(self.within))
    }
}
