//! Operators' actions, and counts gathered off the hot path.

use async_trait::async_trait;
use hapax_core::store::{
    AlertState, AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, ConflictingBody, Cursor,
    DeadGroup, DeadQuery, DeliveryView, Disposal, Driver, DuplicateNote, DuplicateTally, Erased, Error,
    IndexedField, KEYRING_NAME, Pause, ReplayJob, ReplayJobId, Resealed, SavedSearch, SourceState, TimeRange,
    TrafficRow, Unfinished,
};
use hapax_core::{BodyHash, DestinationId, EventId, Identity, Operations, Scope, SourceName, Timestamp};

use super::Sealed;
use crate::contents::{Contents, bound_to};
use crate::digests::Kind;

#[async_trait]
impl Operations for Sealed {
    async fn probe(&self) -> Result<(), Error> {
        self.inner.probe().await
    }

    async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.inner.pause(pause).await
    }

    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error> {
        self.inner.resume(destination).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        self.inner.pauses().await
    }

    async fn put_source_state(&self, state: SourceState) -> Result<(), Error> {
        self.inner
            .put_source_state(self.contents.seal_state(state)?)
            .await
    }

    async fn take_source_state(
        &self,
        source: &SourceName,
        name: &str,
        put: Option<SourceState>,
    ) -> Result<bool, Error> {
        let put = put.map(|state| self.contents.seal_state(state)).transpose()?;
        self.inner.take_source_state(source, name, put).await
    }

    async fn source_state(&self, source: &SourceName, name: &str) -> Result<Option<SourceState>, Error> {
        let Some(state) = self.inner.source_state(source, name).await? else {
            return Ok(None);
        };
        let opened = self.contents.open_state(state);
        opened
            .map(Some)
            .map_err(|unopened| unopened.to_error(&format!("`{name}` of source {source}")))
    }

    /// Returns only values that can be opened: one source's must not hide another's.
    async fn source_states(&self) -> Result<Vec<SourceState>, Error> {
        let mut opened = Vec::new();
        for state in self.inner.source_states().await? {
            let of = format!("`{}` of source {}", state.name, state.source);
            match self.contents.open_state(state) {
                Ok(state) => opened.push(state),
                Err(unopened) => {
                    let error = unopened.to_error(&of);
                    tracing::error!(error = &error as &dyn std::error::Error, "a value is left out");
                }
            }
        }
        Ok(opened)
    }

    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error> {
        self.inner.record(entry).await
    }

    async fn audit_head(&self) -> Result<AuditHead, Error> {
        self.inner.audit_head().await
    }

    async fn audit(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error> {
        self.inner.audit(after, limit).await
    }

    async fn deliveries(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error> {
        self.inner.deliveries(query, after, limit).await
    }

    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error> {
        self.inner.dead_groups(limit).await
    }

    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error> {
        self.inner.dispose(deliveries, disposal).await
    }

    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error> {
        self.inner.erase(events, unfinished).await
    }

    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error> {
        self.inner.create_replay(job).await
    }

    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error> {
        self.inner.replay_job(id).await
    }

    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error> {
        self.inner.replay_jobs(after, limit).await
    }

    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error> {
        self.inner.unfinished_replays().await
    }

    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error> {
        self.inner.claim_replay(id, driver).await
    }

    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error> {
        self.inner.advance_replay(job, driver).await
    }

    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error> {
        self.inner.cancel_replay(id).await
    }

    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error> {
        self.inner.note_duplicates(notes).await
    }

    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error> {
        self.inner.duplicates(identity).await
    }

    /// An index of digests is separate from one of plain hashes: it begins when the key does.
    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error> {
        let renamed = |field: IndexedField, rename: &dyn Fn(String) -> String| IndexedField {
            pointer: rename(field.pointer),
            ..field
        };
        let seal = |pointer: String| self.contents.seal_pointer(&pointer);
        let fields = fields.into_iter().map(|field| renamed(field, &seal));
        let declared = self.inner.declare_indexes(fields.collect()).await?.into_iter();
        Ok(declared
            .map(|(field, since)| (renamed(field, &Contents::open_pointer), since))
            .collect())
    }

    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error> {
        self.inner.put_traffic(rows).await
    }

    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error> {
        self.inner.traffic(span).await
    }

    async fn put_saved_search(&self, view: SavedSearch) -> Result<bool, Error> {
        self.inner.put_saved_search(view).await
    }

    async fn delete_saved_search(&self, name: &str) -> Result<bool, Error> {
        self.inner.delete_saved_search(name).await
    }

    async fn saved_searches(&self) -> Result<Vec<SavedSearch>, Error> {
        self.inner.saved_searches().await
    }

    async fn alerts(&self) -> Result<Vec<AlertState>, Error> {
        let mut alerts = self.inner.alerts().await?;
        alerts.retain(|state| state.name != KEYRING_NAME);
        Ok(alerts)
    }

    async fn swap_alert(
        &self,
        name: &str,
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
    ) -> Result<bool, Error> {
        if name == KEYRING_NAME {
            return Ok(false);
        }
        self.inner.swap_alert(name, before, after).await
    }

    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error> {
        let names = notes.iter().map(|note| (note.scope.clone(), note.raw_hash));
        self.bring_over(names.collect()).await?;
        let notes = notes.into_iter().map(|note| self.contents.seal_note(note));
        self.inner.note_bodies(notes.collect()).await
    }

    /// A name that was bound in the other form, before or after encryption was turned on, is bound to the same body.
    async fn bind(&self, binding: Binding) -> Result<bool, Error> {
        let note = binding.note();
        let half = self
            .contents
            .digests
            .seal(Kind::Bound, &bound_to(&note), *note.id.as_bytes());
        let mut digest = [0; 32];
        digest[..16].copy_from_slice(&half);
        let sealed = Binding {
            raw_hash: BodyHash::from_bytes(digest),
            ..binding.clone()
        };
        let (own, other) = if self.contents.writes_plain() {
            (binding, sealed)
        } else {
            (sealed, binding)
        };
        Ok(self.inner.bind(own).await? || self.inner.bind(other).await?)
    }

    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error> {
        let sealed = |(scope, hash): &(Scope, BodyHash)| self.contents.seal_body_name(scope, *hash);
        let either = bodies.iter().map(sealed).chain(bodies.iter().cloned()).collect();
        let found = self.inner.remembered(either).await?.into_iter();
        let mut found: Vec<BodyNote> = found.map(|note| self.contents.open_note(note)).collect();
        found.sort_by(|one, other| {
            (&one.scope, one.raw_hash.as_bytes()).cmp(&(&other.scope, other.raw_hash.as_bytes()))
        });
        found.dedup_by(|one, other| one.scope == other.scope && one.raw_hash == other.raw_hash);
        Ok(found)
    }

    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error> {
        let digest = self.contents.seal_body_hash(first, raw_hash);
        for form in [digest, raw_hash, digest] {
            if let Some(found) = self.inner.conflict(first, form).await? {
                return self.contents.open_conflicting_body(found).map(Some);
            }
        }
        Ok(None)
    }

    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error> {
        // Its form may change between the first two calls; the third finds it then.
        let digest = self.contents.seal_body_hash(first, raw_hash);
        for form in [digest, raw_hash, digest] {
            self.inner.mark_released(first, form, event).await?;
        }
        Ok(())
    }

    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error> {
        let mut stored = Vec::with_capacity(rows.len());
        for row in rows {
            stored.extend(self.stored_form(row).await?);
        }
        self.inner.reseal(stored).await
    }
}
