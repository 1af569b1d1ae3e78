//! Deliveries that are too late to replay: their destination may have forgotten that it applied them.
//!
//! A payload may outlive every window, because another delivery of its event is unfinished or dead. The note that keeps
//! a `sql` destination from applying an event twice does not.

use std::time::Duration;

use hapax_core::store::{DeliveryView, Error, EventRecord, ReplayJobId, ReplayMode, ReplayOrder, Replayed};
use hapax_core::{DeliveryState, DestinationId, ErrorClass, EventId, Generation, Leased, Timestamp};

use crate::engine::{Engine, Inner};
use crate::transport::{AttemptResult, Reply};

/// How long a replayed delivery may wait to run. One that waits longer is refused when it runs.
const WAIT_MAX: Duration = Duration::from_secs(86_400);
/// A note is not relied on for this long before it expires: an attempt takes time, and clocks differ.
const NOTE_MARGIN: Duration = Duration::from_secs(3_600);

impl Engine {
    /// The destinations that a replay in this mode would reach, but that applied the event longer ago than they are
    /// sure to remember. Only [`ReplayMode::Force`] reaches them.
    pub fn too_late(&self, record: &EventRecord, mode: ReplayMode) -> Vec<DestinationId> {
        self.0.too_late(record, mode)
    }
}

impl Inner {
    fn too_late(&self, record: &EventRecord, mode: ReplayMode) -> Vec<DestinationId> {
        let is_reached = |delivery: &DeliveryView| match mode {
            ReplayMode::Failed => delivery.state != DeliveryState::Completed,
            ReplayMode::All => true,
            // Held deliveries were never applied.
            ReplayMode::Force | ReplayMode::Held => false,
        };
        let is_late = |delivery: &DeliveryView| {
            let before = self.forgets_before(&delivery.destination, WAIT_MAX);
            let applied = applied_at(record, &delivery.destination, delivery.generation);
            before
                .zip(applied)
                .is_some_and(|(before, applied)| applied < before)
        };
        let deliveries = record.deliveries.iter();
        let late = deliveries.filter(|delivery| is_reached(delivery) && is_late(delivery));
        late.map(|delivery| delivery.destination.clone()).collect()
    }

    /// A destination may have forgotten what it applied before this time; none if it does not promise to remember.
    fn forgets_before(&self, destination: &DestinationId, margin: Duration) -> Option<Timestamp> {
        let plan = self.plan.load();
        let runtime = plan.destinations.get(destination)?;
        let remembers = runtime.with_settings(|settings| settings.remembers)?;
        Some(self.parts.clock.now().minus(remembers.saturating_sub(margin)))
    }

    /// Why an attempt must not be made, if so. A replayed delivery may have waited longer than its replay allowed for,
    /// at a paused destination or behind others.
    pub(crate) async fn refuse_late(&self, leased: &Leased) -> Option<AttemptResult> {
        let before = self.forgets_before(&leased.destination, NOTE_MARGIN)?;
        // Nothing is applied before it is received, so few deliveries need the lookup.
        if leased.event.received_at >= before {
            return None;
        }
        let record = match self.parts.store.get(leased.event.id).await {
            Ok(record) => record?,
            Err(error) => {
                let message = format!("cannot check whether this event was applied before: {error}");
                return Some(AttemptResult::failed(ErrorClass::Connect, message));
            }
        };
        let applied = applied_at(&record, &leased.destination, leased.generation)?;
        let message = format!(
            "this event was applied at {applied}, longer ago than the destination remembers reliably, and could take \
             effect twice: it was not applied again; `hapax replay {} --mode force` applies it on purpose",
            leased.event.id
        );
        let class = ErrorClass::Refused;
        (applied < before).then(|| AttemptResult {
            reply: Reply::Refused { class, message },
            status: None,
            excerpt: String::new(),
        })
    }

    /// The latest acceptance at which a delivery may be too late; none if every destination remembers for ever.
    pub(super) fn late_before(&self) -> Option<Timestamp> {
        let plan = self.plan.load();
        let destinations = plan.destinations.values();
        let shortest = destinations
            .filter_map(|runtime| runtime.with_settings(|settings| settings.remembers))
            .min()?;
        Some(self.parts.clock.now().minus(shortest.saturating_sub(WAIT_MAX)))
    }

    /// The orders that replay one event: a single one, or one for each destination that may be reached.
    pub(super) async fn replay_orders(
        &self,
        event: EventId,
        mode: ReplayMode,
        to: Option<DestinationId>,
        job: Option<ReplayJobId>,
    ) -> Result<Vec<ReplayOrder>, Error> {
        let record = match mode {
            ReplayMode::Force | ReplayMode::Held => None,
            ReplayMode::Failed | ReplayMode::All => self.parts.store.get(event).await?,
        };
        let late = record
            .as_ref()
            .map(|record| self.too_late(record, mode))
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

/// When a destination last applied an event, in this generation; none if it never did.
fn applied_at(
    record: &EventRecord,
    destination: &DestinationId,
    generation: Generation,
) -> Option<Timestamp> {
    let completed = record.deliveries.iter().filter(|one| {
        one.destination == *destination
            && one.generation == generation
            && one.state == DeliveryState::Completed
    });
    // A replay that failed, or has not ended, may follow an earlier success.
    let succeeded = record.attempts.iter().filter(|one| {
        one.destination == *destination && one.generation == generation && one.attempt.error.is_none()
    });
    let succeeded = succeeded.map(|one| one.attempt.started_at);
    completed.filter_map(|one| one.finished_at).chain(succeeded).max()
}

/// The result for an event, combined from the results of its orders.
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
