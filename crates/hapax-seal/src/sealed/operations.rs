//! Operators' actions, and counts gathered off the hot path.

use async_trait::async_trait;
use hapax_core::store::{
    AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, ConflictingBody, Cursor, DeadGroup,
    DeadQuery, DeliveryView, Disposal, Driver, DuplicateNote, DuplicateTally, Erased, Error, Expected,
    IndexedField, KEYRING_NAME, NamedValue, Pause, ReplayJob, ReplayJobId, Resealed, Swapped, TimeRange,
    TrafficRow, Unfinished, ValueSpace, ValueSwap,
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

    async fn swap_value(&self, swap: ValueSwap) -> Result<Swapped, Error> {
        match &swap.space {
            ValueSpace::Source(source) => self.swap_sealed(source, &swap).await,
            ValueSpace::Alerts if is_keyring(&swap) => Ok(Swapped::Differs),
            ValueSpace::SavedSearches | ValueSpace::Alerts => self.inner.swap_value(swap).await,
        }
    }

    async fn value(&self, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        match space {
            ValueSpace::Source(source) => {
                let stored = self.inner.value(space, name).await?;
                let opened = stored.map(|stored| self.open_value(source, name, &stored));
                opened.transpose()
            }
            ValueSpace::Alerts if name == KEYRING_NAME => Ok(None),
            ValueSpace::SavedSearches | ValueSpace::Alerts => self.inner.value(space, name).await,
        }
    }

    /// Of a source, returns only values that can be opened: one must not hide the others.
    async fn values(&self, space: &ValueSpace) -> Result<Vec<NamedValue>, Error> {
        let mut values = self.inner.values(space).await?;
        match space {
            ValueSpace::SavedSearches => {}
            ValueSpace::Alerts => values.retain(|value| value.name != KEYRING_NAME),
            ValueSpace::Source(source) => {
                values.retain_mut(|value| match self.open_value(source, &value.name, &value.value) {
                    Ok(opened) => {
                        value.value = opened;
                        true
                    }
                    Err(error) => {
                        tracing::error!(error = &error as &dyn std::error::Error, "a value was omitted");
                        false
                    }
                });
            }
        }
        Ok(values)
    }

    async fn sources_with_values(&self) -> Result<Vec<SourceName>, Error> {
        self.inner.sources_with_values().await
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

/// Whether a swap touches the keyring, which no caller sees.
fn is_keyring(swap: &ValueSwap) -> bool {
    let put = swap.put.as_ref().map(|put| &*put.name);
    swap.name == KEYRING_NAME || put == Some(KEYRING_NAME)
}

impl Sealed {
    /// Sealing the same value twice gives different bytes, so the store cannot compare it: the value is compared here,
    /// and swapped from the bytes that were read. If these have changed, it is compared again.
    async fn swap_sealed(&self, source: &SourceName, swap: &ValueSwap) -> Result<Swapped, Error> {
        let seal = |put: &NamedValue| {
            let sealed = self.contents.seal_value(source, &put.name, &put.value)?;
            Ok::<_, Error>(NamedValue::new(put.name.as_str(), sealed))
        };
        let sealed = ValueSwap {
            put: swap.put.as_ref().map(seal).transpose()?,
            ..swap.clone()
        };
        let Expected::Value(expected) = &swap.expected else {
            return self.inner.swap_value(sealed).await;
        };
        loop {
            let Some(stored) = self.inner.value(&swap.space, &swap.name).await? else {
                return Ok(Swapped::Differs);
            };
            if self.open_value(source, &swap.name, &stored)? != *expected {
                return Ok(Swapped::Differs);
            }
            let from_stored = ValueSwap {
                expected: Expected::Value(stored),
                ..sealed.clone()
            };
            match self.inner.swap_value(from_stored).await? {
                Swapped::Differs => {}
                swapped @ (Swapped::Done | Swapped::Full) => return Ok(swapped),
            }
        }
    }
}
