//! The store's operations, passed to the same threads.

use async_trait::async_trait;
use hapax_core::store::{
    AlertState, AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, ConflictingBody, Cursor,
    DeadGroup, DeadQuery, DeliveryView, Disposal, Driver, DuplicateNote, DuplicateTally, Erased, Error,
    IndexedField, Pause, ReplayJob, ReplayJobId, Resealed, SavedSearch, SourceState, TimeRange, TrafficRow,
    Unfinished,
};
use hapax_core::{BodyHash, DestinationId, EventId, Identity, Operations, Scope, SourceName, Timestamp};

use crate::{
    SqliteStore, alerts, audit, bodies, conflicts, dead, duplicates, erase, indexed, jobs, pauses, probe,
    reseal, saved_searches, source_state, traffic,
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

    async fn put_source_state(&self, state: SourceState) -> Result<(), Error> {
        self.write(state, 1, 0, source_state::put).await
    }

    async fn take_source_state(
        &self,
        source: &SourceName,
        name: &str,
        put: Option<SourceState>,
    ) -> Result<bool, Error> {
        let taken = (source.clone(), name.to_owned(), put);
        self.write(taken, 1, 0, source_state::take).await
    }

    async fn source_state(&self, source: &SourceName, name: &str) -> Result<Option<SourceState>, Error> {
        let (source, name) = (source.clone(), name.to_owned());
        self.read(move |desk| source_state::find(desk, &source, &name))
            .await
    }

    async fn source_states(&self) -> Result<Vec<SourceState>, Error> {
        self.read(source_state::list).await
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
        self.read(move |desk| duplicates::copies(desk, &identity)).await
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

    async fn put_saved_search(&self, view: SavedSearch) -> Result<bool, Error> {
        self.write(view, 1, 0, saved_searches::put).await
    }

    async fn delete_saved_search(&self, name: &str) -> Result<bool, Error> {
        self.write(name.to_owned(), 1, 0, saved_searches::delete).await
    }

    async fn saved_searches(&self) -> Result<Vec<SavedSearch>, Error> {
        self.read(saved_searches::list).await
    }

    async fn alerts(&self) -> Result<Vec<AlertState>, Error> {
        self.read(alerts::list).await
    }

    async fn swap_alert(
        &self,
        name: &str,
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
    ) -> Result<bool, Error> {
        self.write((name.to_owned(), before, after), 1, 0, alerts::swap)
            .await
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
