//! Processed: for sources that are answered only when the deliveries are done. Waits until every destination has
//! attempted an event, here or on another replica. A duplicate of an event that failed makes its next attempt due now.

use std::collections::HashMap;
use std::time::Duration;

use hapax_core::store::{DeliveryView, Error};
use hapax_core::{DeliveryState, DestinationId, ErrorClass, EventId};

use crate::engine::{Engine, Inner};
use crate::incoming::Accepted;

/// The first check for deliveries that another replica may have finished; each further one waits twice as long.
const LOOK_FIRST: Duration = Duration::from_millis(25);
/// The longest wait between two checks.
const LOOK_MAX: Duration = Duration::from_millis(400);

/// The progress of a request's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Processed {
    /// Every delivery is done.
    Done,
    /// A delivery still runs or waits.
    InFlight,
    /// An attempt failed, or a delivery is dead.
    Failed,
}

impl Engine {
    /// The progress of these events, after waiting at most `limit` for their attempts. Delivery continues whatever the
    /// answer. Conflicts and quarantined events are not waited for.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn processed(&self, accepted: &[Accepted], limit: Duration) -> Result<Processed, Error> {
        let inner = &self.0;
        let deadline = inner.elapsed() + limit;
        let mut worst = Processed::Done;
        for one in accepted {
            let how_far = match one {
                Accepted::New { id, .. } => inner.processed_one(*id, &Baseline::default(), deadline).await?,
                Accepted::Duplicate { id, .. } => inner.processed_again(*id, deadline).await?,
                Accepted::Quarantined { .. } | Accepted::Conflict { .. } => Processed::Done,
            };
            worst = worst.max(how_far);
        }
        fail::fail_point!("processed.before_answer");
        Ok(worst)
    }
}

/// For each destination, the number of attempts that had ended before the question: a later one answers it.
type Baseline = HashMap<DestinationId, u32>;

impl Inner {
    /// A duplicate: deliveries that failed are retried now.
    async fn processed_again(&self, id: EventId, deadline: Duration) -> Result<Processed, Error> {
        let before = self.deliveries(id).await?;
        let retrying = |view: &&DeliveryView| view.state == DeliveryState::Retrying;
        let baseline: Baseline = before
            .iter()
            .filter(retrying)
            .map(|view| (view.destination.clone(), view.attempts))
            .collect();
        if !baseline.is_empty() {
            self.parts.store.hasten(id).await?;
            let plan = self.plan.load();
            for runtime in baseline
                .keys()
                .filter_map(|destination| plan.destinations.get(destination))
            {
                runtime.add_due();
            }
            self.dispatch.notify_one();
        }
        self.processed_one(id, &baseline, deadline).await
    }

    async fn processed_one(
        &self,
        id: EventId,
        baseline: &Baseline,
        deadline: Duration,
    ) -> Result<Processed, Error> {
        let watch = self.watchers.watch(id);
        let mut pause = LOOK_FIRST;
        loop {
            // Registered before the check, so that nothing that finishes after it is missed.
            let finished = watch.finished();
            tokio::pin!(finished);
            finished.as_mut().enable();
            let how_far = judge(&self.deliveries(id).await?, baseline);
            let left = deadline.saturating_sub(self.elapsed());
            if how_far != Processed::InFlight || left.is_zero() || self.is_stopping() {
                return Ok(how_far);
            }
            tokio::select! {
                biased;
                () = finished => pause = LOOK_FIRST,
                () = self.parts.runtime.sleep(pause.min(left)) => pause = (pause * 2).min(LOOK_MAX),
            }
        }
    }

    async fn deliveries(&self, id: EventId) -> Result<Vec<DeliveryView>, Error> {
        // An event whose payload has expired was finished long ago.
        let record = self.parts.store.get(id).await?;
        Ok(record.map(|record| record.deliveries).unwrap_or_default())
    }
}

fn judge(deliveries: &[DeliveryView], baseline: &Baseline) -> Processed {
    let of_one = |view: &DeliveryView| match view.state {
        DeliveryState::Completed | DeliveryState::Discarded => Processed::Done,
        // It waits for an operator, whatever the provider does.
        DeliveryState::Dead if view.error == Some(ErrorClass::SameBody) => Processed::Done,
        DeliveryState::Dead => Processed::Failed,
        DeliveryState::Pending | DeliveryState::Running => Processed::InFlight,
        DeliveryState::Retrying => {
            let before = baseline.get(&view.destination).copied().unwrap_or_default();
            if view.attempts > before {
                Processed::Failed
            } else {
                Processed::InFlight
            }
        }
    };
    deliveries.iter().map(of_one).max().unwrap_or(Processed::Done)
}
