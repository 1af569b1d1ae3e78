//! Deliveries that come too late for a replay: their destination may have forgotten that it applied them.
//!
//! A payload may outlive every window, because another delivery of its event is unfinished or dead. The note that keeps
//! a `sql` destination from applying an event again does not.

use std::time::Duration;

use hapax_core::store::{DeliveryView, Error, EventRecord, ReplayJobId, ReplayMode, ReplayOrder, Replayed};
use hapax_core::{DeliveryState, DestinationId, EventId, Timestamp};

use crate::engine::{Engine, Inner};

/// How long a replayed delivery may wait until it runs, and still find the note.
const WAIT_MAX: Duration = Duration::from_secs(86_400);

impl Engine {
    /// The destinations that applied an event longer ago than they are sure to remember: only
    /// [`ReplayMode::Force`] reaches them.
    pub fn too_late(&self, record: &EventRecord) -> Vec<DestinationId> {
        self.0.too_late(record)
    }
}

impl Inner {
    fn too_late(&self, record: &EventRecord) -> Vec<DestinationId> {
        let plan = self.plan.load();
        let is_late = |delivery: &&DeliveryView| {
            let port = plan.ports.get(&delivery.destination);
            let remembers = port.and_then(|port| port.with_settings(|settings| settings.remembers));
            let applied = applied_at(record, delivery);
            remembers.zip(applied).is_some_and(|(remembers, applied)| {
                applied < self.parts.clock.now().minus(remembers.saturating_sub(WAIT_MAX))
            })
        };
        let late = record.deliveries.iter().filter(is_late);
        late.map(|delivery| delivery.destination.clone()).collect()
    }

    /// The latest acceptance at which a delivery may be too late; none where every destination remembers for ever.
    pub(super) fn late_before(&self) -> Option<Timestamp> {
        let plan = self.plan.load();
        let ports = plan.ports.values();
        let shortest = ports
            .filter_map(|port| port.with_settings(|settings| settings.remembers))
            .min()?;
        Some(self.parts.clock.now().minus(shortest.saturating_sub(WAIT_MAX)))
    }

    /// What replays one event: one order, or one for each of its destinations but those that it must leave alone.
    pub(super) async fn replay_orders(
        &self,
        event: EventId,
        mode: ReplayMode,
        to: Option<DestinationId>,
        job: Option<ReplayJobId>,
    ) -> Result<Vec<ReplayOrder>, Error> {
        let record = match mode {
            ReplayMode::Force => None,
            ReplayMode::Failed | ReplayMode::All => self.parts.store.get(event).await?,
        };
        let late = record
            .as_ref()
            .map(|record| self.too_late(record))
            .unwrap_or_default();
        let targets = match (to, record) {
            (None, Some(record)) if !late.is_empty() => {
                let all = record
                    .deliveries
                    .into_iter()
                    .map(|delivery| Some(delivery.destination));
                all.collect()
            }
            (to, _) => vec![to],
        };
        let mut orders = Vec::with_capacity(targets.len());
        for to in targets {
            if to.as_ref().is_some_and(|to| late.contains(to)) {
                continue;
            }
            let to = self.replay_target(event, to).await?;
            orders.push(ReplayOrder { event, mode, to, job });
        }
        Ok(orders)
    }
}

/// When the delivery took effect at last, in its generation; none if it never did.
fn applied_at(record: &EventRecord, delivery: &DeliveryView) -> Option<Timestamp> {
    let completed = delivery
        .finished_at
        .filter(|_| delivery.state == DeliveryState::Completed);
    // A replay that failed has left an earlier success behind.
    let succeeded = record.attempts.iter().filter(|one| {
        one.destination == delivery.destination
            && one.generation == delivery.generation
            && one.attempt.error.is_none()
    });
    succeeded.map(|one| one.attempt.started_at).chain(completed).max()
}

/// What became of an event, by what became of its orders.
pub(super) fn together(answers: impl IntoIterator<Item = Replayed>) -> Replayed {
    let both = |one: Replayed, other: Replayed| match (one, other) {
        (
            Replayed::Again { deliveries: some, .. },
            Replayed::Again {
                deliveries,
                generation,
            },
        ) => Replayed::Again {
            deliveries: some + deliveries,
            generation,
        },
        (again @ Replayed::Again { .. }, _) | (_, again @ Replayed::Again { .. }) => again,
        (Replayed::Nothing, other) => other,
        (one, _) => one,
    };
    answers.into_iter().reduce(both).unwrap_or(Replayed::Nothing)
}
