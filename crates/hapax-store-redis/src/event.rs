//! An event as it is stored: one hash, with its payload, its deliveries, its outcomes and its attempts.

mod head;

use std::collections::BTreeMap;

use hapax_core::store::{AttemptView, DeliveryView};
use hapax_core::{
    Attempt, BodyHash, DeliveryState, DestinationId, EventId, EventStatus, Generation, Identity, Timestamp,
    Token,
};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, damaged};
use crate::packed;
use crate::reply::Pairs;
use crate::work::{Outcome, Work};

pub(crate) use head::{Head, pack_body, unpack_body};

/// The fields of an event's hash.
pub(crate) struct EventRow {
    pub(crate) id: EventId,
    pub(crate) head: Head,
    /// The head as it is stored.
    pub(crate) packed_head: Vec<u8>,
    pub(crate) accepted_at: Timestamp,
    /// The last generation given to its deliveries.
    pub(crate) generation: Generation,
    /// Changes with every change of its deliveries; empty before the first.
    pub(crate) version: Vec<u8>,
    /// Headers and body, if they were requested.
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) work: BTreeMap<DestinationId, Work>,
    /// By destination, oldest first: the last one counts if no delivery is unfinished there.
    pub(crate) outcomes: BTreeMap<DestinationId, BTreeMap<Token, Outcome>>,
    /// Oldest first.
    pub(crate) attempts: Vec<AttemptView>,
    pub(crate) conflicts: Vec<(BodyHash, Conflict)>,
    pub(crate) same_body_as: Option<EventId>,
    /// Names in indexes.
    pub(crate) indexed: Vec<String>,
}

/// A conflict: another body under the event's identity. The body itself has a separate key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Conflict {
    pub(crate) seen: u64,
    pub(crate) received_at: i64,
    pub(crate) source: String,
    pub(crate) body_bytes: u64,
    /// Orders arrivals.
    pub(crate) order: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) released_as: Option<serde_bytes::ByteBuf>,
}

impl EventRow {
    /// Decodes the fields; `None` if there is no event. There may still be conflicts of a deleted event.
    pub(crate) fn read(id: EventId, fields: Pairs) -> Result<Option<Self>, Failure> {
        let Some((_, head)) = fields.iter().find(|(name, _)| name == b"h") else {
            return Ok(None);
        };
        let mut row = Self {
            id,
            head: packed::unpack(head, "the head of an event")?,
            packed_head: head.clone(),
            accepted_at: Timestamp::default(),
            generation: Generation::default(),
            version: Vec::new(),
            body: None,
            work: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            attempts: Vec::new(),
            conflicts: Vec::new(),
            same_body_as: None,
            indexed: Vec::new(),
        };
        for (name, value) in fields {
            row.field(&name, value)?;
        }
        row.attempts.sort_by_key(|view| view.token);
        row.conflicts.sort_by_key(|(_, conflict)| conflict.order);
        Ok(Some(row))
    }

    fn field(&mut self, name: &[u8], value: Vec<u8>) -> Result<(), Failure> {
        let Some((kind, rest)) = name.split_first() else {
            return Ok(());
        };
        match kind {
            b'b' => self.body = Some(value),
            b'm' => (self.accepted_at, self.generation) = acceptance(&value)?,
            b'v' => self.version = value,
            b'w' => {
                let work = packed::unpack(&value, "work")?;
                self.work.insert(destination(rest)?, work);
            }
            b'o' => {
                let (to, token) = split(rest)?;
                let outcome = packed::unpack(&value, "an outcome")?;
                let outcomes = self.outcomes.entry(destination(to)?).or_default();
                outcomes.insert(Token(number(token)?), outcome);
            }
            b'a' => self.attempts.push(attempt(rest, &value)?),
            b'c' => self.conflicts.push(conflict(rest, &value)?),
            b's' => self.same_body_as = Some(EventId::from_bytes(sixteen(&value)?)),
            b'i' => self.indexed = packed::unpack(&value, "indexed values")?,
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn identity(&self) -> Identity {
        self.head.identity()
    }

    pub(crate) fn is_unfinished(&self) -> bool {
        !self.work.is_empty()
    }

    /// The last outcome for each destination without an unfinished delivery.
    pub(crate) fn last_outcomes(&self) -> impl Iterator<Item = (&DestinationId, Token, &Outcome)> {
        self.outcomes
            .iter()
            .filter(|(to, _)| !self.work.contains_key(*to))
            .filter_map(|(to, outcomes)| {
                let (token, outcome) = outcomes.last_key_value()?;
                Some((to, *token, outcome))
            })
    }

    /// Its status, derived from its deliveries.
    pub(crate) fn status(&self) -> Result<EventStatus, Failure> {
        if !self.work.is_empty() {
            let has_failed = self.work.values().any(|work| work.failures() > 0);
            return Ok(if has_failed {
                EventStatus::Failed
            } else {
                EventStatus::Pending
            });
        }
        if self.outcomes.is_empty() {
            return Ok(EventStatus::without_deliveries(&self.head.event_id));
        }
        let mut dead = Vec::new();
        for (_, _, outcome) in self.last_outcomes() {
            if outcome.state()? == DeliveryState::Dead {
                dead.push(outcome.error());
            }
        }
        Ok(EventStatus::of_finished(dead))
    }

    /// One view per destination.
    pub(crate) fn deliveries(&self) -> Result<Vec<DeliveryView>, Failure> {
        let identity = self.identity();
        let unfinished = self
            .work
            .iter()
            .map(|(to, work)| Ok(self.unfinished(&identity, to, work)));
        let finished = self
            .last_outcomes()
            .map(|(to, _, outcome)| self.finished(&identity, to, outcome));
        let mut views: Vec<DeliveryView> = unfinished.chain(finished).collect::<Result<_, Failure>>()?;
        views.sort_by(|one, other| one.destination.cmp(&other.destination));
        Ok(views)
    }

    fn unfinished(&self, identity: &Identity, to: &DestinationId, work: &Work) -> DeliveryView {
        DeliveryView {
            event: self.id,
            destination: to.clone(),
            state: work.state(),
            generation: work.generation(),
            idempotency_key: identity.idempotency_key(work.generation(), to),
            attempts: work.attempts,
            lost: work.lost,
            due_at: work.due_at(),
            finished_at: None,
            error: None,
            lane: work.stay.lane().map(|lane| lane.key),
            replay: work.replay(),
        }
    }

    pub(crate) fn finished(
        &self,
        identity: &Identity,
        to: &DestinationId,
        outcome: &Outcome,
    ) -> Result<DeliveryView, Failure> {
        Ok(DeliveryView {
            event: self.id,
            destination: to.clone(),
            state: outcome.state()?,
            generation: outcome.generation(),
            idempotency_key: identity.idempotency_key(outcome.generation(), to),
            attempts: outcome.attempts,
            lost: outcome.lost,
            due_at: None,
            finished_at: Some(outcome.finished_at()),
            error: outcome.error(),
            lane: outcome.stay.lane().map(|lane| lane.key),
            replay: outcome.replay(),
        })
    }
}

/// When it was accepted, and the generation last given to its deliveries.
pub(crate) fn acceptance(bytes: &[u8]) -> Result<(Timestamp, Generation), Failure> {
    let read = || {
        let (at, rest) = bytes.split_first_chunk()?;
        let (generation, _) = rest.split_first_chunk()?;
        Some((
            Timestamp::from_micros(i64::from_be_bytes(*at)),
            Generation(u32::from_be_bytes(*generation)),
        ))
    };
    read().ok_or_else(|| damaged("the acceptance of an event"))
}

/// The inverse of `acceptance`.
pub(crate) fn pack_acceptance(at: Timestamp, generation: Generation) -> Vec<u8> {
    [&at.as_micros().to_be_bytes()[..], &generation.0.to_be_bytes()].concat()
}

/// The field name of an outcome.
pub(crate) fn outcome_field(to: &DestinationId, token: Token) -> Vec<u8> {
    format!("o{to}\0{}", token.0).into_bytes()
}

/// The field name of an attempt.
pub(crate) fn attempt_field(view: &AttemptView) -> Vec<u8> {
    format!("a{}\0{}\0{}", view.token.0, view.destination, view.generation).into_bytes()
}

/// The field name of a conflict.
pub(crate) fn conflict_field(hash: BodyHash) -> Vec<u8> {
    [b"c", &hash.as_bytes()[..]].concat()
}

/// An attempt from its field, without the letter of its kind.
pub(crate) fn attempt(name: &[u8], value: &[u8]) -> Result<AttemptView, Failure> {
    let (token, rest) = split(name)?;
    let (to, generation) = split(rest)?;
    let attempt: Attempt = serde_json::from_slice(value).map_err(|_| damaged("an attempt"))?;
    Ok(AttemptView {
        destination: destination(to)?,
        generation: Generation(number(generation)? as u32),
        token: Token(number(token)?),
        attempt,
    })
}

/// The conflicts among the fields, even if the event itself is gone.
pub(crate) fn conflicts(fields: &[(Vec<u8>, Vec<u8>)]) -> Result<Vec<(BodyHash, Conflict)>, Failure> {
    let conflicts = fields.iter().filter_map(|(name, value)| {
        let hash = name.strip_prefix(b"c")?;
        Some(conflict(hash, value))
    });
    conflicts.collect()
}

fn conflict(name: &[u8], value: &[u8]) -> Result<(BodyHash, Conflict), Failure> {
    let hash: [u8; 32] = name.try_into().map_err(|_| damaged("the hash of a conflict"))?;
    Ok((BodyHash::from_bytes(hash), packed::unpack(value, "a conflict")?))
}

pub(crate) fn destination(bytes: &[u8]) -> Result<DestinationId, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("a destination"))?;
    Ok(text.into())
}

pub(crate) fn sixteen(bytes: &[u8]) -> Result<[u8; 16], Failure> {
    bytes.try_into().map_err(|_| damaged("an id"))
}

/// The parts before and after the first NUL.
pub(crate) fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), Failure> {
    let at = bytes.iter().position(|byte| *byte == 0);
    at.map(|at| (&bytes[..at], &bytes[at + 1..]))
        .ok_or_else(|| damaged("a name of two parts"))
}

fn number(bytes: &[u8]) -> Result<u64, Failure> {
    let text = std::str::from_utf8(bytes).ok();
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| damaged("a number"))
}
