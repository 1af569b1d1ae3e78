//! Operate: operators' actions on a running engine. Every action is written to the audit trail.

mod pause;

use std::time::Duration;

use hapax_core::store::{Actor, Disposal, Error, Forgotten, Pause};
use hapax_core::{BodyHash, DestinationId, EventId, Identity};

use crate::engine::Engine;
use crate::incoming::{Accepted, IncomingEvent, Refusal};

/// The current state of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationStatus {
    pub id: DestinationId,
    /// Who paused it, and why.
    pub paused: Option<Pause>,
    /// How long its breaker stays open.
    pub breaker_open_for: Option<Duration>,
    pub running: u32,
    /// The maximum number of concurrent attempts.
    pub concurrency: u32,
}

/// Why a conflicting body could not be released.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    #[error(transparent)]
    Store(#[from] Error),
    /// It could not be accepted as a separate event.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Engine {
    /// Every configured destination, by name.
    pub fn destinations(&self) -> Vec<DestinationStatus> {
        let now = self.0.elapsed();
        let plan = self.0.plan.load();
        let mut statuses: Vec<_> = plan
            .destinations
            .values()
            .map(|runtime| DestinationStatus {
                id: runtime.id(),
                paused: runtime.paused(),
                breaker_open_for: runtime.breaker_open_for(now),
                running: runtime.running(),
                concurrency: runtime.with_settings(|settings| settings.concurrency),
            })
            .collect();
        statuses.sort_by(|a, b| a.id.cmp(&b.id));
        statuses
    }

    /// Lets an identity be accepted again. Returns only when no cache anywhere can still answer for the old event.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget(&self, identity: &Identity, who: impl Into<Actor>) -> Result<Forgotten, Error> {
        let inner = &self.0;
        let forgotten = inner.parts.store.forget(identity).await?;
        if let Forgotten::Done { next } = forgotten {
            inner.seen.forget(identity.key());
            let detail = format!("the next one is generation {next}");
            inner
                .audit(
                    &who.into(),
                    "forget",
                    format!("{}/{}", identity.scope, identity.event_id),
                    detail,
                )
                .await?;
            inner.parts.runtime.sleep(inner.seen.lifetime()).await;
        }
        Ok(forgotten)
    }

    /// Discards dead letters, or restores them. Returns how many changed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
        who: impl Into<Actor>,
    ) -> Result<u64, Error> {
        let inner = &self.0;
        let subject = match deliveries.as_slice() {
            [(event, destination)] => format!("{event} to {destination}"),
            many => format!("{} deliveries", many.len()),
        };
        let changed = inner.parts.store.dispose(deliveries, disposal).await?;
        let action = match disposal {
            Disposal::Discard => "dead.discard",
            Disposal::Restore => "dead.restore",
        };
        inner
            .audit(&who.into(), action, subject, format!("{changed} changed"))
            .await?;
        // A discarded head unblocks its lane.
        inner.mark_all_dirty();
        Ok(changed)
    }

    /// Accepts a conflicting body as a separate event, under the first event's id with a mark that no provider's id can
    /// carry. Releasing it twice yields one event. `None` if there is no such body.
    ///
    /// # Errors
    /// When the store fails or the event is refused.
    pub async fn release_conflict(
        &self,
        first: EventId,
        raw_hash: BodyHash,
        who: impl Into<Actor>,
    ) -> Result<Option<EventId>, ReleaseError> {
        let inner = &self.0;
        let Some(other_body) = inner.parts.store.conflict(first, raw_hash).await? else {
            return Ok(None);
        };
        let Some(record) = inner.parts.store.get(first).await? else {
            return Ok(None);
        };
        // Earlier versions gave it another id; a body released then stays released.
        let conflict = record.conflicts.iter().find(|one| one.raw_hash == raw_hash);
        if let Some(id) = conflict.and_then(|conflict| conflict.released_as) {
            return Ok(Some(id));
        }
        let incoming = IncomingEvent {
            source: other_body.source,
            event_id: record.event.identity.of_conflict(&raw_hash).event_id,
            earlier_id: None,
            event_type: record.event.event_type,
            signed_at: None,
            secret_index: None,
            received_at: other_body.received_at,
            headers: other_body.headers,
            body: other_body.body,
            content_hash: None,
            batch: None,
        };
        let accepted = self.accept(vec![incoming]).await?;
        let Some(id) = accepted.first().map(Accepted::id) else {
            return Ok(None);
        };
        inner.parts.store.mark_released(first, raw_hash, id).await?;
        inner
            .audit(
                &who.into(),
                "conflict.release",
                first.to_string(),
                format!("{raw_hash} as {id}"),
            )
            .await?;
        Ok(Some(id))
    }
}
