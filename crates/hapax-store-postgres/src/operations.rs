//! The store's operations, passed to tasks in the same way.

use async_trait::async_trait;
use futures_util::FutureExt;
use hapax_core::store::{
    AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, ConflictingBody, Cursor, DeadGroup,
    DeadQuery, DeliveryView, Disposal, Driver, DuplicateNote, DuplicateTally, Erased, Error, IndexedField,
    NamedValue, Pause, ReplayJob, ReplayJobId, Resealed, Swapped, TimeRange, TrafficRow, Unfinished,
    ValueSpace, ValueSwap,
};
use hapax_core::{BodyHash, DestinationId, EventId, Identity, Operations, Scope, SourceName, Timestamp};

use crate::step::Step;
use crate::{
    PostgresStore, audit, bodies, conflicts, dead, duplicates, erase, indexed, jobs, pauses, probe, reseal,
    traffic, values,
};

#[async_trait]
impl Operations for PostgresStore {
    async fn probe(&self) -> Result<(), Error> {
        self.run((), |session, ()| probe::probe(session).boxed()).await
    }

    async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.keep_up(pause, |session, pause| pauses::pause(session, pause).boxed())
            .await
    }

    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error> {
        self.keep_up(destination.clone(), |session, destination| {
            pauses::resume(session, destination).boxed()
        })
        .await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        self.run((), |session, ()| pauses::pauses(session).boxed()).await
    }

    async fn swap_value(&self, swap: ValueSwap) -> Result<Swapped, Error> {
        let step: Step<_, _> = |session, swap| values::swap(session, swap).boxed();
        match swap.space {
            ValueSpace::Source(_) => self.run(swap, step).await,
            ValueSpace::SavedSearches | ValueSpace::Alerts => self.keep_up(swap, step).await,
        }
    }

    async fn value(&self, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.run((space.clone(), name.to_owned()), |session, (space, name)| {
            values::value(session, space, name).boxed()
        })
        .await
    }

    async fn values(&self, space: &ValueSpace) -> Result<Vec<NamedValue>, Error> {
        let step: Step<_, _> = |session, space| values::values(session, space).boxed();
        match space {
            ValueSpace::SavedSearches => self.search(space.clone(), step).await,
            ValueSpace::Alerts => self.keep_up(space.clone(), step).await,
            ValueSpace::Source(_) => self.run(space.clone(), step).await,
        }
    }

    async fn sources_with_values(&self) -> Result<Vec<SourceName>, Error> {
        self.run((), |session, ()| values::sources(session).boxed()).await
    }

    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error> {
        self.keep_up(entry, |session, entry| audit::record(session, entry).boxed())
            .await
    }

    async fn audit_head(&self) -> Result<AuditHead, Error> {
        self.run((), |session, ()| audit::head(session).boxed()).await
    }

    async fn audit(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error> {
        self.search((after, limit), |session, page| {
            audit::audit(session, page).boxed()
        })
        .await
    }

    async fn deliveries(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error> {
        self.search((query.clone(), after, limit), |session, page| {
            dead::deliveries(session, page).boxed()
        })
        .await
    }

    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error> {
        self.search(limit, |session, limit| dead::dead_groups(session, *limit).boxed())
            .await
    }

    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error> {
        self.keep_up((deliveries, disposal), |session, input| {
            dead::dispose(session, input).boxed()
        })
        .await
    }

    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error> {
        self.keep_up((events, unfinished), |session, input| {
            erase::erase(session, input).boxed()
        })
        .await
    }

    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error> {
        self.keep_up(job, |session, job| jobs::create_replay(session, job).boxed())
            .await
    }

    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error> {
        self.search(id, |session, id| jobs::replay_job(session, *id).boxed())
            .await
    }

    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error> {
        self.search((after, limit), |session, page| {
            jobs::replay_jobs(session, page).boxed()
        })
        .await
    }

    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error> {
        self.keep_up((), |session, ()| jobs::unfinished_replays(session).boxed())
            .await
    }

    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error> {
        self.keep_up((id, driver), |session, input| {
            jobs::claim_replay(session, input).boxed()
        })
        .await
    }

    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error> {
        self.keep_up((job.clone(), driver), |session, input| {
            jobs::advance_replay(session, input).boxed()
        })
        .await
    }

    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error> {
        self.keep_up(id, |session, id| jobs::cancel_replay(session, *id).boxed())
            .await
    }

    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error> {
        self.keep_up(notes, |session, notes| {
            duplicates::note_duplicates(session, notes).boxed()
        })
        .await
    }

    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error> {
        self.search(identity.clone(), |session, identity| {
            duplicates::tally(session, identity).boxed()
        })
        .await
    }

    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error> {
        self.keep_up(fields, |session, fields| {
            indexed::declare(session, fields).boxed()
        })
        .await
    }

    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error> {
        self.keep_up(rows, |session, rows| traffic::put(session, rows).boxed())
            .await
    }

    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error> {
        self.keep_up(span, |session, span| traffic::list(session, *span).boxed())
            .await
    }

    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error> {
        self.keep_up(notes, |session, notes| {
            bodies::note_bodies(session, notes).boxed()
        })
        .await
    }

    async fn bind(&self, binding: Binding) -> Result<bool, Error> {
        self.run(binding, |session, binding| bodies::bind(session, binding).boxed())
            .await
    }

    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error> {
        self.search(bodies, |session, bodies| {
            bodies::remembered(session, bodies).boxed()
        })
        .await
    }

    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error> {
        self.search((first, raw_hash), |session, name| {
            conflicts::conflict(session, name).boxed()
        })
        .await
    }

    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error> {
        self.keep_up((first, raw_hash, event), |session, input| {
            conflicts::mark_released(session, input).boxed()
        })
        .await
    }

    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error> {
        self.keep_up(rows, |session, rows| reseal::reseal(session, rows).boxed())
            .await
    }
}
