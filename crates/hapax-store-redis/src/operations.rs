//! The store's operations, run in separate tasks.

use async_trait::async_trait;
use hapax_core::store::{
    AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, ConflictingBody, Cursor, DeadGroup,
    DeadQuery, DeliveryView, Disposal, Driver, DuplicateNote, DuplicateTally, Erased, Error, IndexedField,
    NamedValue, Pause, ReplayJob, ReplayJobId, Resealed, Swapped, TimeRange, TrafficRow, Unfinished,
    ValueSpace, ValueSwap,
};
use hapax_core::{BodyHash, DestinationId, EventId, Identity, Operations, Scope, SourceName, Timestamp};

use crate::{
    RedisStore, audit, bodies, conflicts, dead, duplicates, erase, indexed, jobs, pauses, probe, reseal,
    traffic, values,
};

#[async_trait]
impl Operations for RedisStore {
    async fn probe(&self) -> Result<(), Error> {
        self.run(|link, _| async move { probe::probe(&link).await }).await
    }

    async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.run_aside(|link, _| async move { pauses::pause(&link, &pause).await })
            .await
    }

    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error> {
        let destination = destination.clone();
        self.run_aside(|link, _| async move { pauses::resume(&link, &destination).await })
            .await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        self.run(|link, _| async move { pauses::pauses(&link).await })
            .await
    }

    async fn swap_value(&self, swap: ValueSwap) -> Result<Swapped, Error> {
        match swap.space {
            ValueSpace::Source(_) => {
                self.run(|link, _| async move { values::swap(&link, &swap).await })
                    .await
            }
            ValueSpace::SavedSearches | ValueSpace::Alerts => {
                self.run_aside(|link, _| async move { values::swap(&link, &swap).await })
                    .await
            }
        }
    }

    async fn value(&self, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let (space, name) = (space.clone(), name.to_owned());
        self.run(|link, _| async move { values::value(&link, &space, &name).await })
            .await
    }

    async fn values(&self, space: &ValueSpace) -> Result<Vec<NamedValue>, Error> {
        let space = space.clone();
        match space {
            ValueSpace::Source(_) => {
                self.run(|link, _| async move { values::values(&link, &space).await })
                    .await
            }
            ValueSpace::SavedSearches | ValueSpace::Alerts => {
                self.run_aside(|link, _| async move { values::values(&link, &space).await })
                    .await
            }
        }
    }

    async fn sources_with_values(&self) -> Result<Vec<SourceName>, Error> {
        self.run(|link, _| async move { values::sources(&link).await })
            .await
    }

    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error> {
        self.run_aside(|link, _| async move { audit::record(&link, entry).await })
            .await
    }

    async fn audit_head(&self) -> Result<AuditHead, Error> {
        self.run(|link, _| async move { audit::head(&link).await }).await
    }

    async fn audit(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error> {
        self.run_aside(|link, _| async move { audit::audit(&link, after, limit).await })
            .await
    }

    async fn deliveries(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error> {
        let query = query.clone();
        self.run_aside(|link, _| async move { dead::deliveries(&link, &query, after, limit).await })
            .await
    }

    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error> {
        self.run_aside(|link, _| async move { dead::dead_groups(&link, limit).await })
            .await
    }

    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error> {
        self.run_aside(|link, _| async move { dead::dispose(&link, &deliveries, disposal).await })
            .await
    }

    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error> {
        self.run_aside(|link, _| async move { erase::erase(&link, &events, unfinished).await })
            .await
    }

    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error> {
        self.run_aside(|link, _| async move { jobs::create(&link, job).await })
            .await
    }

    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error> {
        self.run_aside(|link, _| async move { jobs::get(&link, id).await })
            .await
    }

    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error> {
        self.run_aside(|link, _| async move { jobs::list(&link, after, limit).await })
            .await
    }

    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error> {
        self.run_aside(|link, _| async move { jobs::unfinished(&link).await })
            .await
    }

    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error> {
        self.run_aside(|link, _| async move { jobs::claim(&link, id, driver).await })
            .await
    }

    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error> {
        let job = job.clone();
        self.run_aside(|link, _| async move { jobs::advance(&link, &job, driver).await })
            .await
    }

    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error> {
        self.run_aside(|link, _| async move { jobs::cancel(&link, id).await })
            .await
    }

    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error> {
        self.run_aside(|link, _| async move { duplicates::note(&link, notes).await })
            .await
    }

    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error> {
        let key = identity.key();
        self.run_aside(|link, _| async move { duplicates::tally(&link, key).await })
            .await
    }

    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error> {
        self.run_aside(|link, _| async move { indexed::declare(&link, &fields).await })
            .await
    }

    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error> {
        self.run_aside(|link, _| async move { traffic::put(&link, &rows).await })
            .await
    }

    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error> {
        self.run_aside(|link, _| async move { traffic::list(&link, span).await })
            .await
    }

    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error> {
        self.run_aside(|link, _| async move { bodies::note(&link, notes).await })
            .await
    }

    async fn bind(&self, binding: Binding) -> Result<bool, Error> {
        self.run(|link, _| async move { bodies::bind(&link, &binding.note()).await })
            .await
    }

    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error> {
        self.run_aside(|link, _| async move { bodies::remembered(&link, bodies).await })
            .await
    }

    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error> {
        self.run_aside(|link, _| async move { conflicts::conflict(&link, first, raw_hash).await })
            .await
    }

    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error> {
        self.run_aside(|link, _| async move { conflicts::mark_released(&link, first, raw_hash, event).await })
            .await
    }

    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error> {
        self.run_aside(|link, _| async move { reseal::reseal(&link, rows).await })
            .await
    }
}
