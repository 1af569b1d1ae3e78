//! The model's state: plain maps.

use std::collections::BTreeMap;

use hapax_core::store::{
    Alive, AttemptView, AuditRecord, ConflictingBody, DeliveryView, DuplicateTally, ImportMark, IndexedField,
    IndexedValue, JobHold, LedgerEntry, Origin, Pause, ReplayJob, ReplayJobId, Subject, TimeRange, Traffic,
    ValueSpace,
};
use hapax_core::{
    DeliveryState, DestinationId, ErrorClass, EventId, EventStatus, Generation, Hold, IdempotencyKey,
    Identity, Key, Lane, Owner, Scope, StoredEvent, Timestamp, Token,
};

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) ledger: BTreeMap<Key, LedgerRow>,
    pub(super) events: BTreeMap<EventId, EventRow>,
    /// Unfinished deliveries and last outcomes alike; the state distinguishes them.
    pub(super) deliveries: BTreeMap<(EventId, DestinationId), Delivery>,
    pub(super) attempts: BTreeMap<EventId, Vec<AttemptView>>,
    pub(super) duplicates: BTreeMap<Key, DuplicateTally>,
    pub(super) conflicts: BTreeMap<Key, Vec<Conflict>>,
    /// By scope and hash: the events that carried the body, earliest first.
    pub(super) bodies: BTreeMap<(Scope, [u8; 32]), Vec<BodyRow>>,
    pub(super) pauses: BTreeMap<DestinationId, Pause>,
    pub(super) values: BTreeMap<ValueSpace, BTreeMap<String, Vec<u8>>>,
    pub(super) traffic: BTreeMap<(TimeRange, Timestamp, Subject, Owner), Traffic>,
    /// Since when each field is indexed.
    pub(super) indexes: BTreeMap<IndexedField, Timestamp>,
    pub(super) audit: Vec<AuditRecord>,
    pub(super) jobs: BTreeMap<ReplayJobId, ReplayJob>,
    pub(super) origin: Option<Origin>,
    /// The mark of an unfinished migration.
    pub(super) import: Option<ImportMark>,
    pub(super) drivers: BTreeMap<ReplayJobId, JobHold>,
    /// Owners that reported themselves alive.
    pub(super) owners: BTreeMap<Owner, Alive>,
    last_token: u64,
    last_sequence: u64,
}

#[derive(Debug)]
pub(super) struct LedgerRow {
    pub(super) scope: Scope,
    pub(super) entry: LedgerEntry,
    /// A forgotten row is a tombstone: its generation is that of the next event.
    pub(super) forgotten: Forgotten,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forgotten {
    No,
    Yes,
}

#[derive(Debug)]
pub(super) struct EventRow {
    pub(super) event: StoredEvent,
    pub(super) key: Key,
    /// The last generation given to its deliveries.
    pub(super) generation: Generation,
    pub(super) accepted_at: Timestamp,
    /// Orders events by acceptance.
    pub(super) sequence: u64,
    pub(super) same_body_as: Option<EventId>,
    pub(super) indexed: Vec<IndexedValue>,
}

#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) state: DeliveryState,
    pub(super) generation: Generation,
    pub(super) idempotency_key: IdempotencyKey,
    pub(super) attempts: u32,
    pub(super) lost: u32,
    /// `None` while it waits in its lane, is running, or is finished.
    pub(super) due_at: Option<Timestamp>,
    pub(super) lease_until: Timestamp,
    /// The owner that runs it, while it is running.
    pub(super) owner: Option<Owner>,
    pub(super) token: Token,
    pub(super) lane: Option<Lane>,
    /// Its position in the lane; grows with every joining.
    pub(super) place: u64,
    /// Whether it is in the lane: unfinished, or dead and holding it.
    pub(super) in_lane: InLane,
    pub(super) finished_at: Option<Timestamp>,
    /// Orders finished deliveries.
    pub(super) finished_sequence: u64,
    pub(super) error: Option<ErrorClass>,
    pub(super) replay: Option<ReplayJobId>,
    /// Its outcome before each replay.
    pub(super) earlier: Vec<Self>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InLane {
    No,
    Yes,
}

#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) other_body: ConflictingBody,
    pub(super) seen: u64,
    pub(super) released_as: Option<EventId>,
}

#[derive(Debug)]
pub(super) struct BodyRow {
    pub(super) id: EventId,
    pub(super) until: Timestamp,
}

impl State {
    /// A token greater than every one before.
    pub(super) fn next_token(&mut self) -> Token {
        self.last_token += 1;
        Token(self.last_token)
    }

    pub(super) fn next_sequence(&mut self) -> u64 {
        self.last_sequence += 1;
        self.last_sequence
    }

    /// Every token and sequence number issued so far is below this.
    pub(super) fn numbers_below(&self) -> u64 {
        self.last_token.max(self.last_sequence) + 1
    }

    /// Skips all numbers below `below`.
    pub(super) fn pass_numbers(&mut self, below: u64) {
        self.last_token = self.last_token.max(below);
        self.last_sequence = self.last_sequence.max(below);
    }

    /// The delivery, if it is running under the given token.
    pub(super) fn held(&mut self, hold: &Hold) -> Option<&mut Delivery> {
        self.deliveries
            .get_mut(&(hold.event, hold.destination.clone()))
            .filter(|delivery| delivery.state == DeliveryState::Running && delivery.token == hold.token)
    }

    /// The deliveries of one event.
    pub(super) fn deliveries_of(&self, event: EventId) -> impl Iterator<Item = (&DestinationId, &Delivery)> {
        self.deliveries
            .iter()
            .filter(move |((id, _), _)| *id == event)
            .map(|((_, destination), delivery)| (destination, delivery))
    }

    pub(super) fn is_unfinished(&self, event: EventId) -> bool {
        self.deliveries_of(event)
            .any(|(_, delivery)| delivery.state.is_unfinished())
    }

    /// The event's status, from its deliveries.
    pub(super) fn status(&self, event: EventId) -> EventStatus {
        let deliveries: Vec<_> = self.deliveries_of(event).map(|(_, delivery)| delivery).collect();
        if deliveries.is_empty() {
            let row = self.events.get(&event);
            let event_id = row.map_or("", |row| row.event.identity.event_id.as_str());
            return EventStatus::without_deliveries(event_id);
        }
        let mut unfinished = deliveries
            .iter()
            .filter(|delivery| delivery.state.is_unfinished())
            .peekable();
        if unfinished.peek().is_some() {
            return if unfinished.any(|delivery| delivery.failures() > 0) {
                EventStatus::Failed
            } else {
                EventStatus::Pending
            };
        }
        let dead = deliveries
            .iter()
            .filter(|delivery| delivery.state == DeliveryState::Dead);
        EventStatus::of_finished(dead.map(|delivery| delivery.error))
    }

    /// The row of an identity that was not forgotten.
    pub(super) fn entry(&self, identity: &Identity) -> Option<&LedgerEntry> {
        self.ledger
            .get(&identity.key())
            .filter(|row| row.forgotten == Forgotten::No)
            .map(|row| &row.entry)
    }
}

impl Delivery {
    /// A waiting delivery, neither due nor in a lane yet.
    pub(super) fn waiting(
        identity: &Identity,
        destination: &DestinationId,
        generation: Generation,
        token: Token,
    ) -> Self {
        Self {
            state: DeliveryState::Pending,
            generation,
            idempotency_key: identity.idempotency_key(generation, destination),
            attempts: 0,
            lost: 0,
            due_at: None,
            lease_until: Timestamp::default(),
            owner: None,
            token,
            lane: None,
            place: 0,
            in_lane: InLane::No,
            finished_at: None,
            finished_sequence: 0,
            error: None,
            replay: None,
            earlier: Vec::new(),
        }
    }

    /// The jobs that ever replayed it.
    pub(super) fn replays(&self) -> impl Iterator<Item = ReplayJobId> {
        let all = self.earlier.iter().chain([self]);
        all.filter_map(|delivery| delivery.replay)
    }

    /// Attempts that ended and left it unfinished.
    fn failures(&self) -> u32 {
        match self.state {
            DeliveryState::Running => self.attempts.saturating_sub(1),
            DeliveryState::Pending
            | DeliveryState::Retrying
            | DeliveryState::Completed
            | DeliveryState::Dead
            | DeliveryState::Discarded => self.attempts,
        }
    }

    /// Makes it wait again, due at `due_at`.
    pub(super) fn wait_until(&mut self, due_at: Timestamp) {
        self.state = if self.attempts > 0 {
            DeliveryState::Retrying
        } else {
            DeliveryState::Pending
        };
        self.due_at = Some(due_at);
    }

    pub(super) fn view(&self, event: EventId, destination: &DestinationId) -> DeliveryView {
        DeliveryView {
            event,
            destination: destination.clone(),
            state: self.state,
            generation: self.generation,
            idempotency_key: self.idempotency_key,
            attempts: self.attempts,
            lost: self.lost,
            due_at: self.due_at,
            finished_at: self.finished_at,
            error: self.error,
            lane: self.lane.as_ref().map(|lane| lane.key.clone()),
            replay: self.replay,
        }
    }
}
