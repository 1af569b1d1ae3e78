//! The store's operations, passed to the same threads.

use async_trait::async_trait;
use hapax_core::store::{
    AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, ConflictingBody, Cursor, DeadGroup,
    DeadQuery, DeliveryView, Disposal, Driver, DuplicateNote, DuplicateTally, Erased, Error, IndexedField,
    NamedValue, Pause, ReplayJob, ReplayJobId, Resealed, Swapped, TimeRange, TrafficRow, Unfinished,
    ValueSpace, ValueSwap,
};
use hapax_core::{BodyHash, DestinationId, EventId, Identity, Operations, Scope, SourceName, Timestamp};

use crate::{
    SqliteStore, audit, bodies, conflicts, dead, duplicates, erase, indexed, jobs, pauses, probe, reseal,
    traffic, values,
};

#[async_trait]
impl Operations for SqliteStore {
    async fn probe(&self) -> Result<(), Error> {
        self.write((), 1, 0, |desk, ()| probe::probe(desk)).await
    }

    async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.write(pause, 1, 0, pauses::pause).await
    }

    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error> {
        self.write(destination.clone(), 1, 0, pauses::resume).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        self.read(pauses::pauses).await
    }

    async fn swap_value(&self, swap: ValueSwap) -> Result<Swapped, Error> {
        self.write(swap, 1, 0, values::swap).await
    }

    async fn value(&self, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let (space, name) = (space.clone(), name.to_owned());
        self.read(move |desk| values::value(desk, &space, &name)).await
    }

    async fn values(&self, space: &ValueSpace) -> Result<Vec<NamedValue>, Error> {
        let space = space.clone();
        self.read(move |desk| values::values(desk, &space)).await
    }

    async fn sources_with_values(&self) -> Result<Vec<SourceName>, Error> {
        self.read(values::sources).await
    }

    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error> {
        self.write(entry, 1, 0, audit::record).await
    }

    async fn audit_head(&self) -> Result<AuditHead, Error> {
        self.read(|desk| audit::head(&desk.connection)).await
    }

    async fn audit(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error> {
        self.read(move |desk| audit::audit(desk, after, limit)).await
    }

    async fn deliveries(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error> {
        let query = query.clone();
        self.read(move |desk| dead::deliveries(desk, &query, after, limit))
            .await
    }

    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error> {
        self.read(move |desk| dead::dead_groups(desk, limit)).await
    }

    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error> {
        let items = deliveries.len();
        self.write((deliveries, disposal), items, 0, dead::dispose).await
    }

    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error> {
        let items = events.len();
        self.write((events, unfinished), items, 0, erase::erase).await
    }

    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error> {
        self.write(job, 1, 0, jobs::create_replay).await
    }

    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error> {
        self.read(move |desk| jobs::replay_job(desk, id)).await
    }

    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error> {
        self.read(move |desk| jobs::replay_jobs(desk, after, limit)).await
    }

    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error> {
        self.read(jobs::unfinished_replays).await
    }

    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error> {
        self.write((id, driver), 1, 0, jobs::claim_replay).await
    }

    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error> {
        self.write((job.clone(), driver), 1, 0, jobs::advance_replay)
            .await
    }

    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error> {
        self.write(id, 1, 0, jobs::cancel_replay).await
    }

    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error> {
        let items = notes.len();
        self.write(notes, items, 0, |desk, notes| {
            duplicates::note_duplicates(desk, notes)
        })
        .await
    }

    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error> {
        let identity = identity.clone();
        self.read(move |desk| duplicates::tally(desk, &identity)).await
    }

    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error> {
        self.write(fields, 1, 0, |desk, fields| indexed::declare(desk, fields))
            .await
    }

    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error> {
        let items = rows.len();
        self.write(rows, items, 0, |desk, rows| traffic::put(desk, rows))
            .await
    }

    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error> {
        self.read(move |desk| traffic::list(desk, span)).await
    }

    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error> {
        let items = notes.len();
        self.write(notes, items, 0, |desk, notes| bodies::note_bodies(desk, notes))
            .await
    }

    async fn bind(&self, binding: Binding) -> Result<bool, Error> {
        self.write(binding, 1, 0, bodies::bind).await
    }

    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error> {
        self.read(move |desk| bodies::remembered(desk, &bodies)).await
    }

    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error> {
        self.read(move |desk| conflicts::conflict(desk, first, raw_hash))
            .await
    }

    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error> {
        self.write((first, raw_hash, event), 1, 0, conflicts::mark_released)
            .await
    }

    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error> {
        let bytes = rows.iter().map(Resealed::payload_bytes).sum();
        let items = rows.len();
        self.write(rows, items, bytes, |desk, rows| reseal::reseal(desk, rows))
            .await
    }
}
