//! The rest of the store over a link: operators' actions, and migration, which no run uses.

use async_trait::async_trait;
use hapax_core::store::{
    AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, Census, ConflictingBody, Cursor,
    DeadGroup, DeadQuery, DeliveryView, Disposal, Driver, DuplicateNote, DuplicateTally, Erased, Error,
    ImportBegun, ImportMark, IndexedField, MigrationCursor, MigrationPage, NamedValue, Origin, Pause, Record,
    ReplayJob, ReplayJobId, Resealed, Swapped, TimeRange, TrafficRow, Unfinished, ValueSpace, ValueSwap,
};
use hapax_core::{
    BodyHash, DestinationId, EventId, Identity, Operations, Scope, SourceName, StoreMigration, Timestamp,
};

use super::Link;

#[async_trait]
impl Operations for Link {
    async fn probe(&self) -> Result<(), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.probe().await }).await
    }

    async fn pause(&self, pause: Pause) -> Result<(), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.pause(pause).await }).await
    }

    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error> {
        let (model, destination) = (self.vault.model.clone(), destination.clone());
        self.call(async move { model.resume(&destination).await }).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.pauses().await }).await
    }

    async fn swap_value(&self, swap: ValueSwap) -> Result<Swapped, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.swap_value(swap).await }).await
    }

    async fn value(&self, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let (model, space, name) = (self.vault.model.clone(), space.clone(), name.to_owned());
        self.call(async move { model.value(&space, &name).await }).await
    }

    async fn values(&self, space: &ValueSpace) -> Result<Vec<NamedValue>, Error> {
        let (model, space) = (self.vault.model.clone(), space.clone());
        self.call(async move { model.values(&space).await }).await
    }

    async fn sources_with_values(&self) -> Result<Vec<SourceName>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.sources_with_values().await }).await
    }

    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.record(entry).await }).await
    }

    async fn audit_head(&self) -> Result<AuditHead, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.audit_head().await }).await
    }

    async fn audit(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.audit(after, limit).await }).await
    }

    async fn deliveries(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error> {
        let (model, query) = (self.vault.model.clone(), query.clone());
        self.call(async move { model.deliveries(&query, after, limit).await })
            .await
    }

    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.dead_groups(limit).await }).await
    }

    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.dispose(deliveries, disposal).await })
            .await
    }

    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.erase(events, unfinished).await })
            .await
    }

    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.create_replay(job).await }).await
    }

    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.replay_job(id).await }).await
    }

    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.replay_jobs(after, limit).await })
            .await
    }

    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.unfinished_replays().await }).await
    }

    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.claim_replay(id, driver).await })
            .await
    }

    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error> {
        let (model, job) = (self.vault.model.clone(), job.clone());
        self.call(async move { model.advance_replay(&job, driver).await })
            .await
    }

    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.cancel_replay(id).await }).await
    }

    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.note_duplicates(notes).await }).await
    }

    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error> {
        let (model, identity) = (self.vault.model.clone(), identity.clone());
        self.call(async move { model.duplicates(&identity).await }).await
    }

    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.declare_indexes(fields).await })
            .await
    }

    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.put_traffic(rows).await }).await
    }

    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.traffic(span).await }).await
    }

    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.note_bodies(notes).await }).await
    }

    async fn bind(&self, binding: Binding) -> Result<bool, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.bind(binding).await }).await
    }

    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.remembered(bodies).await }).await
    }

    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.conflict(first, raw_hash).await })
            .await
    }

    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.mark_released(first, raw_hash, event).await })
            .await
    }

    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.reseal(rows).await }).await
    }
}

#[async_trait]
impl StoreMigration for Link {
    async fn origin(&self) -> Result<Origin, Error> {
        self.vault.model.origin().await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.vault.model.census().await
    }

    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error> {
        self.vault.model.export(after, limit).await
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        self.vault.model.begin_import(mark).await
    }

    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error> {
        self.vault.model.import(records, reached).await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.vault.model.finish_import().await
    }
}
