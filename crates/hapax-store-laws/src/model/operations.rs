//! The model's operations: what operators do.

use async_trait::async_trait;
use hapax_core::store::{
    AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, ConflictingBody, Cursor, DeadGroup,
    DeadQuery, DeliveryView, Disposal, Driver, DuplicateNote, DuplicateTally, Erased, Error, IndexedField,
    NamedValue, Pause, ReplayJob, ReplayJobId, ReplayJobState, Resealed, Swapped, TimeRange, TrafficRow,
    Unfinished, ValueSpace, ValueSwap,
};
use hapax_core::{
    BodyHash, DeliveryState, DestinationId, EventId, Identity, Operations, Scope, SourceName, Timestamp,
};

use super::MemoryStore;
use super::state::State;

#[async_trait]
impl Operations for MemoryStore {
    async fn probe(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.step(|state, _| state.pauses.insert(pause.destination.clone(), pause));
        Ok(())
    }

    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error> {
        Ok(self.step(|state, _| state.pauses.remove(destination).is_some()))
    }

    async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        Ok(self.step(|state, _| state.pauses.values().cloned().collect()))
    }

    async fn swap_value(&self, swap: ValueSwap) -> Result<Swapped, Error> {
        Ok(self.step(|state, _| state.swap_value(swap)))
    }

    async fn value(&self, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.step(|state, _| state.values.get(space)?.get(name).cloned()))
    }

    async fn values(&self, space: &ValueSpace) -> Result<Vec<NamedValue>, Error> {
        Ok(self.step(|state, _| {
            let values = state.values.get(space).into_iter().flatten();
            values
                .map(|(name, value)| NamedValue::new(name.as_str(), value.as_slice()))
                .collect()
        }))
    }

    async fn sources_with_values(&self) -> Result<Vec<SourceName>, Error> {
        Ok(self.step(|state, _| {
            let spaces = state.values.iter().filter(|(_, values)| !values.is_empty());
            spaces.filter_map(|(space, _)| space.source().cloned()).collect()
        }))
    }

    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error> {
        Ok(self.step(|state, now| {
            let link = state.audit_head().followed_by(now, &entry);
            state.audit.push(AuditRecord {
                at: now,
                entry,
                link: Some(link),
            });
            link
        }))
    }

    async fn audit_head(&self) -> Result<AuditHead, Error> {
        Ok(self.step(|state, _| state.audit_head()))
    }

    async fn audit(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error> {
        Ok(self.step(|state, _| {
            let end = after.map_or(state.audit.len(), |Cursor(end)| end as usize);
            let start = end.saturating_sub(limit as usize);
            let page = state.audit[start..end].iter().rev().cloned().collect();
            (page, (start > 0).then_some(Cursor(start as u64)))
        }))
    }

    async fn deliveries(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error> {
        Ok(self.step(|state, _| state.finished(query, after, limit)))
    }

    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error> {
        Ok(self.step(|state, _| state.dead_groups(limit)))
    }

    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error> {
        Ok(self.step(|state, now| {
            deliveries
                .into_iter()
                .map(|(event, destination)| state.dispose(now, event, &destination, disposal))
                .sum()
        }))
    }

    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error> {
        Ok(self.step(|state, now| {
            let events = events.into_iter();
            events.map(|event| state.erase(now, event, unfinished)).collect()
        }))
    }

    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error> {
        self.step(|state, _| state.jobs.insert(job.id, job));
        Ok(())
    }

    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error> {
        Ok(self.step(|state, _| state.jobs.get(&id).cloned()))
    }

    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error> {
        Ok(self.step(|state, _| {
            let before = |id: &ReplayJobId| after.is_none_or(|Cursor(order)| id.0.order() < order);
            let mut jobs: Vec<ReplayJob> = state
                .jobs
                .values()
                .rev()
                .filter(|job| before(&job.id))
                .cloned()
                .collect();
            let more = jobs.len() > limit as usize;
            jobs.truncate(limit as usize);
            let next = jobs.last().filter(|_| more).map(|job| Cursor(job.id.0.order()));
            (jobs, next)
        }))
    }

    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error> {
        Ok(self.step(|state, _| {
            let unfinished = state
                .jobs
                .values()
                .filter(|job| job.state == ReplayJobState::Running);
            unfinished.cloned().collect()
        }))
    }

    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error> {
        Ok(self.step(|state, now| {
            let running = state
                .jobs
                .values()
                .filter(|job| job.state == ReplayJobState::Running);
            let held = |job: &ReplayJob| state.drivers.get(&job.id).copied();
            let unfinished: Vec<_> = running.map(|job| (job.clone(), held(job))).collect();
            if !driver.may_take(id, &unfinished, now) {
                return None;
            }
            state.drivers.insert(id, driver.hold(now));
            state.jobs.get(&id).cloned()
        }))
    }

    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error> {
        Ok(self.step(|state, now| match state.jobs.get_mut(&job.id) {
            Some(known)
                if known.state != ReplayJobState::Cancelled
                    && driver.may_write(state.drivers.get(&job.id).copied()) =>
            {
                known.clone_from(job);
                state.drivers.insert(job.id, driver.hold(now));
                true
            }
            Some(_) | None => false,
        }))
    }

    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error> {
        Ok(self.step(|state, _| match state.jobs.get_mut(&id) {
            Some(job) if job.state == ReplayJobState::Running => {
                job.state = ReplayJobState::Cancelled;
                true
            }
            Some(_) | None => false,
        }))
    }

    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error> {
        self.step(|state, _| notes.into_iter().for_each(|note| state.note_duplicates(note)));
        Ok(())
    }

    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error> {
        Ok(self.step(|state, _| state.duplicates.get(&identity.key()).cloned()))
    }

    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error> {
        Ok(self.step(|state, now| {
            let since = |field: &IndexedField| state.indexes.get(field).copied().unwrap_or(now);
            let declared: Vec<_> = fields
                .into_iter()
                .map(|field| (field.clone(), since(&field)))
                .collect();
            state.indexes = declared.iter().cloned().collect();
            declared
        }))
    }

    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error> {
        self.step(|state, now| {
            for row in rows {
                state
                    .traffic
                    .insert((row.range, row.slot, row.subject, row.owner), row.traffic);
            }
            state
                .traffic
                .retain(|(span, slot, ..), _| *slot >= span.oldest(now));
        });
        Ok(())
    }

    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error> {
        Ok(self.step(|state, _| {
            let rows = state.traffic.iter().filter(|((of, ..), _)| *of == span);
            rows.map(|((span, slot, subject, owner), traffic)| TrafficRow {
                range: *span,
                slot: *slot,
                subject: subject.clone(),
                owner: *owner,
                traffic: traffic.clone(),
            })
            .collect()
        }))
    }

    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error> {
        self.step(|state, _| notes.into_iter().for_each(|note| state.note_body(note)));
        Ok(())
    }

    async fn bind(&self, binding: Binding) -> Result<bool, Error> {
        Ok(self.step(|state, _| state.bind(binding.note())))
    }

    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error> {
        Ok(self.step(|state, _| state.remembered(&bodies)))
    }

    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error> {
        Ok(self.step(|state, _| {
            state
                .conflict(first, raw_hash)
                .map(|conflict| conflict.other_body.clone())
        }))
    }

    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error> {
        self.step(|state, _| {
            if let Some(conflict) = state.conflict(first, raw_hash) {
                conflict.released_as = Some(event);
            }
        });
        Ok(())
    }

    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error> {
        self.step(|state, _| rows.into_iter().for_each(|row| state.reseal(row)));
        Ok(())
    }
}

impl State {
    fn swap_value(&mut self, swap: ValueSwap) -> Swapped {
        let values = self.values.entry(swap.space.clone()).or_default();
        if !swap.expected.is_met_by(values.get(&swap.name).map(Vec::as_slice)) {
            return Swapped::Differs;
        }
        if !swap.has_room(values.keys().map(String::as_str)) {
            return Swapped::Full;
        }
        values.remove(&swap.name);
        values.extend(swap.put.map(|put| (put.name, put.value)));
        Swapped::Done
    }

    /// Changes one delivery if it is in the expected state. Returns how many changed.
    fn dispose(
        &mut self,
        now: Timestamp,
        event: EventId,
        destination: &DestinationId,
        disposal: Disposal,
    ) -> u64 {
        let (from, to) = match disposal {
            Disposal::Discard => (DeliveryState::Dead, DeliveryState::Discarded),
            Disposal::Restore => (DeliveryState::Discarded, DeliveryState::Dead),
        };
        match self.deliveries.get_mut(&(event, destination.clone())) {
            Some(delivery) if delivery.state == from => {
                delivery.state = to;
                // Once the lane has continued, it does not wait again: a later delivery may be running.
                self.leave(now, event, destination);
                1
            }
            Some(_) | None => 0,
        }
    }
}
