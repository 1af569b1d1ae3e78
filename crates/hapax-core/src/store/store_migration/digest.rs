//! Digests by which two stores are compared: each covers everything in a record that must be the same in both.

use aws_lc_rs::digest::{Context, SHA256};

use crate::{EventId, Timestamp};

use super::super::{AttemptView, ReplayJobState};
use super::record::{
    AuditNumbered, ConflictRecord, EventContents, IdentityRecord, InLane, JobRecord, OutcomeRecord, Record,
    WorkRecord,
};

impl Record {
    /// SHA-256 over everything except [`EventContents::order`], which each store assigns itself.
    pub fn digest(&self) -> [u8; 32] {
        let mut parts = Parts(Context::new(&SHA256));
        match self {
            Self::Identity(identity) => add_identity(&mut parts, identity),
            Self::Body(note) => {
                parts.text(note.scope.as_str());
                parts.bytes(note.raw_hash.as_bytes());
                parts.bytes(note.id.as_bytes());
                parts.time(note.until);
            }
            Self::Pause(pause) => {
                parts.text(pause.destination.as_str());
                parts.time(pause.at);
                parts.text(&pause.by);
                parts.text(&pause.why);
            }
            Self::Job(record) => add_job(&mut parts, record),
            Self::Audit(entry) => add_audit(&mut parts, entry),
        }
        let mut hash = [0; 32];
        hash.copy_from_slice(parts.0.finish().as_ref());
        hash
    }
}

/// The parts of a record, each preceded by its length, so that different records never have the same input.
struct Parts(Context);

impl Parts {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn number(&mut self, number: impl Into<u64>) {
        self.bytes(&number.into().to_be_bytes());
    }

    fn time(&mut self, time: Timestamp) {
        self.bytes(&time.as_micros().to_be_bytes());
    }

    fn optional<T>(&mut self, value: Option<T>, add: impl FnOnce(&mut Self, T)) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            add(self, value);
        }
    }

    fn each<T>(&mut self, items: &[T], add: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        for item in items {
            add(self, item);
        }
    }

    fn optional_id(&mut self, id: Option<EventId>) {
        self.optional(id, |parts, id| parts.bytes(id.as_bytes()));
    }
}

fn add_identity(parts: &mut Parts, identity: &IdentityRecord) {
    parts.bytes(identity.key.as_bytes());
    parts.text(identity.scope.as_str());
    let entry = &identity.entry;
    parts.bytes(entry.id.as_bytes());
    parts.number(entry.generation.0);
    parts.time(entry.first_seen);
    parts.time(entry.expires_at);
    parts.bytes(entry.raw_hash.as_bytes());
    parts.optional(entry.content_hash.as_ref(), |parts, content| {
        parts.text(&content.rule);
        parts.bytes(content.hash.as_bytes());
    });
    parts.number(identity.is_forgotten);
    parts.each(&identity.events, add_event);
    parts.optional(identity.duplicates.as_ref(), |parts, tally| {
        parts.number(tally.count);
        parts.time(tally.last_at);
        parts.each(&tally.gaps_ms, |parts, gap| parts.number(*gap));
    });
    parts.each(&identity.conflicts, add_conflict);
}

fn add_event(parts: &mut Parts, contents: &EventContents) {
    let event = &contents.event;
    parts.bytes(event.id.as_bytes());
    parts.text(event.identity.scope.as_str());
    parts.text(&event.identity.event_id);
    parts.text(event.source.as_str());
    parts.optional(event.event_type.as_deref(), Parts::text);
    parts.time(event.received_at);
    parts.optional(event.signed_at, Parts::time);
    parts.optional(event.secret_index, Parts::number);
    parts.bytes(event.raw_hash.as_bytes());
    parts.bytes(event.headers.as_bytes());
    parts.bytes(&event.body);
    parts.optional(event.batch, |parts, (id, index)| {
        parts.bytes(id.as_bytes());
        parts.number(index);
    });
    parts.number(contents.generation.0);
    parts.time(contents.accepted_at);
    parts.optional_id(contents.same_body_as);
    parts.each(&contents.indexed, |parts, value| {
        parts.text(&value.pointer);
        parts.bytes(&value.digest.to_be_bytes());
    });
    parts.each(&contents.work, add_work);
    parts.each(&contents.outcomes, add_outcome);
    // Stores do not agree on the order of attempts at different destinations.
    let mut attempts: Vec<&AttemptView> = contents.attempts.iter().collect();
    attempts.sort_by_key(|view| view.token);
    parts.each(&attempts, |parts, view| add_attempt(parts, view));
}

fn add_work(parts: &mut Parts, work: &WorkRecord) {
    parts.text(work.destination.as_str());
    parts.number(work.generation.0);
    parts.bytes(work.idempotency_key.as_bytes());
    parts.number(work.attempts);
    parts.number(work.lost);
    parts.optional(work.due_at, Parts::time);
    parts.number(work.token.0);
    add_lane(parts, work.lane.as_ref());
    parts.optional_id(work.replay.map(|job| job.0));
}

fn add_outcome(parts: &mut Parts, outcome: &OutcomeRecord) {
    parts.text(outcome.destination.as_str());
    parts.number(outcome.token.0);
    parts.text(outcome.state.as_str());
    parts.number(outcome.is_last);
    parts.number(outcome.holds_lane);
    parts.number(outcome.attempts);
    parts.number(outcome.lost);
    parts.time(outcome.finished_at);
    parts.number(outcome.finished_order);
    parts.number(outcome.generation.0);
    parts.bytes(outcome.idempotency_key.as_bytes());
    parts.optional(outcome.error, |parts, error| parts.text(error.as_str()));
    add_lane(parts, outcome.lane.as_ref());
    parts.optional_id(outcome.replay.map(|job| job.0));
}

fn add_lane(parts: &mut Parts, lane: Option<&InLane>) {
    parts.optional(lane, |parts, lane| {
        parts.text(&lane.lane.key);
        parts.number(lane.lane.on_dead == crate::OnDead::Skip);
        parts.number(lane.place);
    });
}

fn add_attempt(parts: &mut Parts, view: &AttemptView) {
    parts.text(view.destination.as_str());
    parts.number(view.generation.0);
    parts.number(view.token.0);
    let attempt = &view.attempt;
    parts.time(attempt.started_at);
    parts.number(attempt.duration_ms);
    parts.optional(attempt.status, |parts, status| {
        parts.bytes(&status.to_be_bytes());
    });
    parts.text(&attempt.excerpt);
    parts.optional(attempt.error, |parts, error| parts.text(error.as_str()));
    parts.optional(attempt.message.as_deref(), Parts::text);
}

fn add_conflict(parts: &mut Parts, conflict: &ConflictRecord) {
    let other_body = &conflict.other_body;
    parts.bytes(other_body.first.as_bytes());
    parts.text(other_body.source.as_str());
    parts.bytes(other_body.raw_hash.as_bytes());
    parts.time(other_body.received_at);
    parts.bytes(other_body.headers.as_bytes());
    parts.bytes(&other_body.body);
    parts.number(conflict.seen);
    parts.optional_id(conflict.released_as);
}

fn add_job(parts: &mut Parts, record: &JobRecord) {
    let job = &record.job;
    parts.bytes(job.id.0.as_bytes());
    // The debug form covers the whole job, including its query.
    parts.text(&format!("{job:?}"));
    parts.number(job.state == ReplayJobState::Running);
    parts.time(record.changed_at);
}

fn add_audit(parts: &mut Parts, entry: &AuditNumbered) {
    parts.number(entry.number);
    parts.time(entry.record.at);
    let said = &entry.record.entry;
    for text in [&said.who, &said.action, &said.subject, &said.detail] {
        parts.text(text);
    }
    if let Some(link) = entry.record.link {
        parts.bytes(&link.to_bytes());
    }
}
