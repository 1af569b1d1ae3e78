//! Import: a record that already exists stays as it is.

use hapax_core::store::{ConflictRecord, EventContents, IdentityRecord, OutcomeRecord, Record, WorkRecord};
use hapax_core::{DeliveryState, Key, Timestamp};

use crate::model::state::{Conflict, Delivery, EventRow, Forgotten, InLane, LedgerRow, State};

impl State {
    pub(super) fn import(&mut self, record: Record) {
        match record {
            Record::Identity(identity) => self.take_in_identity(*identity),
            Record::Body(note) => self.note_body(note),
            Record::Pause(pause) => {
                self.pauses.entry(pause.destination.clone()).or_insert(pause);
            }
            Record::Job(record) => {
                self.jobs.entry(record.job.id).or_insert(record.job);
            }
            Record::Audit(entry) => {
                if entry.number > self.audit.len() as u64 {
                    self.audit.push(entry.record);
                }
            }
        }
    }

    fn take_in_identity(&mut self, identity: IdentityRecord) {
        if self.ledger.contains_key(&identity.key) {
            return;
        }
        let key = identity.key;
        self.ledger.insert(key, ledger_row(&identity));
        for contents in identity.events {
            self.take_in_event(key, contents);
        }
        if let Some(tally) = identity.duplicates {
            self.duplicates.insert(key, tally);
        }
        if !identity.conflicts.is_empty() {
            let conflicts = identity.conflicts.into_iter().map(kept).collect();
            self.conflicts.insert(key, conflicts);
        }
    }

    fn take_in_event(&mut self, key: Key, contents: EventContents) {
        let id = contents.event.id;
        for work in contents.work {
            let delivery = unfinished(&work);
            self.deliveries.insert((id, work.destination), delivery);
        }
        let (last, earlier): (Vec<_>, Vec<_>) =
            contents.outcomes.into_iter().partition(|outcome| outcome.is_last);
        for outcome in last {
            let delivery = finished(&outcome);
            self.deliveries.insert((id, outcome.destination), delivery);
        }
        for outcome in earlier {
            let was = finished(&outcome);
            if let Some(delivery) = self.deliveries.get_mut(&(id, outcome.destination)) {
                delivery.earlier.push(was);
            }
        }
        if !contents.attempts.is_empty() {
            self.attempts.insert(id, contents.attempts);
        }
        let row = EventRow {
            event: contents.event,
            key,
            generation: contents.generation,
            accepted_at: contents.accepted_at,
            sequence: contents.order,
            same_body_as: contents.same_body_as,
            indexed: contents.indexed,
        };
        self.events.insert(id, row);
    }
}

fn ledger_row(identity: &IdentityRecord) -> LedgerRow {
    LedgerRow {
        scope: identity.scope.clone(),
        entry: identity.entry.clone(),
        forgotten: if identity.is_forgotten {
            Forgotten::Yes
        } else {
            Forgotten::No
        },
    }
}

fn kept(conflict: ConflictRecord) -> Conflict {
    Conflict {
        other_body: conflict.other_body,
        seen: conflict.seen,
        released_as: conflict.released_as,
    }
}

fn unfinished(work: &WorkRecord) -> Delivery {
    Delivery {
        state: DeliveryState::waiting(work.attempts),
        generation: work.generation,
        idempotency_key: work.idempotency_key,
        attempts: work.attempts,
        lost: work.lost,
        due_at: work.due_at,
        lease_until: Timestamp::default(),
        owner: None,
        token: work.token,
        lane: work.lane.as_ref().map(|lane| lane.lane.clone()),
        place: work.lane.as_ref().map_or(0, |lane| lane.place),
        in_lane: if work.lane.is_some() {
            InLane::Yes
        } else {
            InLane::No
        },
        finished_at: None,
        finished_sequence: 0,
        error: None,
        replay: work.replay,
        earlier: Vec::new(),
    }
}

fn finished(outcome: &OutcomeRecord) -> Delivery {
    Delivery {
        state: outcome.state,
        generation: outcome.generation,
        idempotency_key: outcome.idempotency_key,
        attempts: outcome.attempts,
        lost: outcome.lost,
        due_at: None,
        lease_until: Timestamp::default(),
        owner: None,
        token: outcome.token,
        lane: outcome.lane.as_ref().map(|lane| lane.lane.clone()),
        place: outcome.lane.as_ref().map_or(0, |lane| lane.place),
        in_lane: if outcome.holds_lane {
            InLane::Yes
        } else {
            InLane::No
        },
        finished_at: Some(outcome.finished_at),
        finished_sequence: outcome.finished_order,
        error: outcome.error,
        replay: outcome.replay,
        earlier: Vec::new(),
    }
}
