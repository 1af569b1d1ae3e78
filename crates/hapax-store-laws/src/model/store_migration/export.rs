//! Export: counts, and pages of all records.

use hapax_core::store::{
    AuditNumbered, BodyNote, Census, ConflictRecord, EventContents, IdentityRecord, InLane, IndexedValue,
    JobRecord, MigrationCursor, MigrationPage, OutcomeRecord, PAGE_BYTES_MAX, Record, ReplayJobState,
    WorkRecord,
};
use hapax_core::{DeliveryState, DestinationId, Key, Timestamp};

use crate::model::state::{self, Delivery, EventRow, Forgotten, State};

impl State {
    pub(super) fn census(&self) -> Census {
        let unfinished = self.deliveries.values().filter(|one| one.state.is_unfinished());
        let unfinished = unfinished.count() as u64;
        Census {
            identities: self.ledger.len() as u64,
            events: self.events.len() as u64,
            unfinished,
            outcomes: self.deliveries.len() as u64 - unfinished,
            attempts: self.attempts.values().map(|all| all.len() as u64).sum(),
            duplicates: self.duplicates.len() as u64,
            conflicts: self.conflicts.values().map(|all| all.len() as u64).sum(),
            bodies: self.bodies.len() as u64,
            same_bodies: self
                .events
                .values()
                .filter(|row| row.same_body_as.is_some())
                .count() as u64,
            pauses: self.pauses.len() as u64,
            jobs: self.jobs.len() as u64,
            audit: self.audit.len() as u64,
            numbers_below: self.numbers_below(),
        }
    }

    pub(super) fn export(&self, after: &MigrationCursor, limit: usize) -> MigrationPage {
        match after {
            MigrationCursor::Identities(after) => self.export_identities(*after, limit),
            MigrationCursor::Bodies(after) => {
                let after = after
                    .as_ref()
                    .map(|(scope, hash)| (scope.clone(), *hash.as_bytes()));
                let records: Vec<Record> = self
                    .bodies
                    .iter()
                    .filter(|(name, _)| after.as_ref().is_none_or(|after| *name > after))
                    .filter_map(|((scope, hash), rows)| {
                        let first = rows.first()?;
                        Some(Record::Body(BodyNote {
                            scope: scope.clone(),
                            raw_hash: hapax_core::BodyHash::from_bytes(*hash),
                            id: first.id,
                            until: first.until,
                        }))
                    })
                    .take(limit)
                    .collect();
                let next = match records.last() {
                    Some(Record::Body(note)) if records.len() == limit => {
                        MigrationCursor::Bodies(Some((note.scope.clone(), note.raw_hash)))
                    }
                    _ => MigrationCursor::Pauses,
                };
                page(records, Some(next))
            }
            MigrationCursor::Pauses => {
                let records = self.pauses.values().cloned().map(Record::Pause).collect();
                page(records, Some(MigrationCursor::Jobs))
            }
            MigrationCursor::Jobs => {
                let records = self.jobs.values().map(|job| {
                    let mut job = job.clone();
                    if job.state == ReplayJobState::Running {
                        job.cursor = None;
                    }
                    Record::Job(Box::new(JobRecord {
                        job,
                        changed_at: Timestamp::default(),
                    }))
                });
                page(records.collect(), Some(MigrationCursor::Audit(0)))
            }
            MigrationCursor::Audit(after) => {
                let records: Vec<Record> = (1..)
                    .zip(&self.audit)
                    .filter(|(number, _)| number > after)
                    .take(limit)
                    .map(|(number, record)| {
                        Record::Audit(AuditNumbered {
                            number,
                            record: record.clone(),
                        })
                    })
                    .collect();
                let next = (records.len() == limit).then_some(MigrationCursor::Audit(after + limit as u64));
                page(records, next)
            }
        }
    }

    fn export_identities(&self, after: Option<Key>, limit: usize) -> MigrationPage {
        let mut records = Vec::new();
        let mut bytes = 0;
        let mut next = MigrationCursor::Bodies(None);
        for key in self
            .ledger
            .keys()
            .filter(|key| after.is_none_or(|after| **key > after))
        {
            if let Some(record) = self.identity(*key) {
                let record = Record::Identity(Box::new(record));
                bytes += record.payload_bytes();
                records.push(record);
            }
            if records.len() >= limit || bytes > PAGE_BYTES_MAX {
                next = MigrationCursor::Identities(Some(*key));
                break;
            }
        }
        page(records, Some(next))
    }

    fn identity(&self, key: Key) -> Option<IdentityRecord> {
        let row = self.ledger.get(&key)?;
        Some(IdentityRecord {
            key,
            scope: row.scope.clone(),
            entry: row.entry.clone(),
            is_forgotten: row.forgotten == Forgotten::Yes,
            events: self
                .events
                .values()
                .filter(|event| event.key == key)
                .map(|event| self.contents(event))
                .collect(),
            duplicates: self.duplicates.get(&key).cloned(),
            conflicts: self
                .conflicts
                .get(&key)
                .into_iter()
                .flatten()
                .map(|conflict| ConflictRecord {
                    other_body: conflict.other_body.clone(),
                    seen: conflict.seen,
                    released_as: conflict.released_as,
                })
                .collect(),
        })
    }

    fn contents(&self, row: &EventRow) -> EventContents {
        let id = row.event.id;
        EventContents {
            event: row.event.clone(),
            order: row.sequence,
            generation: row.generation,
            accepted_at: row.accepted_at,
            same_body_as: row.same_body_as,
            indexed: sorted(&row.indexed),
            work: self
                .deliveries_of(id)
                .filter_map(|(destination, delivery)| work(row.accepted_at, destination, delivery))
                .collect(),
            outcomes: self
                .deliveries_of(id)
                .flat_map(|(destination, delivery)| {
                    let earlier = delivery
                        .earlier
                        .iter()
                        .filter_map(|earlier| outcome(destination, earlier))
                        .map(|outcome| OutcomeRecord {
                            is_last: false,
                            ..outcome
                        });
                    earlier.chain(outcome(destination, delivery))
                })
                .collect(),
            attempts: self.attempts.get(&id).cloned().unwrap_or_default(),
        }
    }
}

/// Values by pointer, as every store exports them.
fn sorted(values: &[IndexedValue]) -> Vec<IndexedValue> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values
}

fn page(records: Vec<Record>, next: Option<MigrationCursor>) -> MigrationPage {
    MigrationPage { records, next }
}

fn work(accepted_at: Timestamp, destination: &DestinationId, delivery: &Delivery) -> Option<WorkRecord> {
    let (attempts, due_at) = match delivery.state {
        DeliveryState::Pending | DeliveryState::Retrying => (delivery.attempts, delivery.due_at),
        DeliveryState::Running => (delivery.attempts.saturating_sub(1), Some(accepted_at)),
        DeliveryState::Completed | DeliveryState::Dead | DeliveryState::Discarded => return None,
    };
    Some(WorkRecord {
        destination: destination.clone(),
        generation: delivery.generation,
        idempotency_key: delivery.idempotency_key,
        attempts,
        lost: delivery.lost,
        due_at,
        token: delivery.token,
        lane: in_lane(delivery),
        replay: delivery.replay,
    })
}

fn outcome(destination: &DestinationId, delivery: &Delivery) -> Option<OutcomeRecord> {
    let finished_at = delivery.finished_at.filter(|_| !delivery.state.is_unfinished())?;
    Some(OutcomeRecord {
        destination: destination.clone(),
        token: delivery.token,
        state: delivery.state,
        is_last: true,
        holds_lane: delivery.in_lane == state::InLane::Yes,
        attempts: delivery.attempts,
        lost: delivery.lost,
        finished_at,
        finished_order: delivery.finished_sequence,
        generation: delivery.generation,
        idempotency_key: delivery.idempotency_key,
        error: delivery.error,
        lane: in_lane(delivery),
        replay: delivery.replay,
    })
}

fn in_lane(delivery: &Delivery) -> Option<InLane> {
    let lane = delivery.lane.clone()?;
    Some(InLane {
        lane,
        place: delivery.place,
    })
}
