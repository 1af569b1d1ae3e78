//! One type per table for a row in JSON: read with `to_jsonb`, written with `jsonb_populate_recordset`.

use hapax_core::store::{
    AttemptView, DuplicateTally, InLane, IndexedValue, LedgerEntry, OutcomeRecord, ReplayJobId, WorkRecord,
};
use hapax_core::{
    Attempt, BodyHash, ContentHash, ErrorClass, EventId, Generation, IdempotencyKey, Timestamp, Token,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::failure::Failure;
use crate::rows::{Class, lane_of, state_of};

/// Bytes as the database writes them: `\x` and hexadecimal digits.
#[derive(Clone, Debug)]
pub(super) struct Binary(pub(super) Vec<u8>);

impl Serialize for Binary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("\\x{}", hex::encode(&self.0)))
    }
}

impl<'de> Deserialize<'de> for Binary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let digits = text.strip_prefix("\\x").unwrap_or(&text);
        hex::decode(digits).map(Self).map_err(serde::de::Error::custom)
    }
}

/// A row of `hapax.ledger`.
#[derive(Serialize, Deserialize)]
pub(super) struct LedgerRow {
    pub(super) bucket: i16,
    pub(super) key: Uuid,
    pub(super) id: Uuid,
    pub(super) generation: u32,
    pub(super) first_seen: i64,
    pub(super) expires_at: i64,
    pub(super) forgotten: bool,
    pub(super) stored: bool,
    pub(super) scope: String,
    pub(super) raw_hash: Binary,
    pub(super) content_rule: Option<String>,
    pub(super) content_hash: Option<Binary>,
}

impl LedgerRow {
    pub(super) fn entry(&self) -> Result<LedgerEntry, Failure> {
        let hash = self.content_hash.as_ref().map(hash_of).transpose()?;
        let rule = self.content_rule.clone();
        Ok(LedgerEntry {
            id: id(self.id),
            generation: Generation(self.generation),
            first_seen: Timestamp::from_micros(self.first_seen),
            expires_at: Timestamp::from_micros(self.expires_at),
            raw_hash: hash_of(&self.raw_hash)?,
            content_hash: rule.zip(hash).map(|(rule, hash)| ContentHash { rule, hash }),
        })
    }
}

/// A row of `hapax.earlier`.
#[derive(Serialize)]
pub(super) struct EarlierRow {
    pub(super) bucket: i16,
    pub(super) key: Uuid,
    pub(super) id: Uuid,
}

/// A row of `hapax.events`.
#[derive(Serialize, Deserialize)]
pub(super) struct EventRow {
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) no: i64,
    pub(super) key: Uuid,
    pub(super) generation: u32,
    pub(super) received_at: i64,
    pub(super) accepted_at: i64,
    pub(super) signed_at: Option<i64>,
    pub(super) secret_index: Option<u16>,
    pub(super) batch_id: Option<Uuid>,
    pub(super) batch_index: Option<u32>,
    pub(super) scope: String,
    pub(super) source: String,
    pub(super) event_id: String,
    #[serde(rename = "type")]
    pub(super) event_type: Option<String>,
    pub(super) raw_hash: Binary,
    pub(super) headers: Binary,
    pub(super) body: Binary,
}

/// A row of `hapax.indexed`.
#[derive(Serialize, Deserialize)]
pub(super) struct IndexedRow {
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) digest: i64,
    pub(super) no: i64,
    pub(super) pointer: String,
}

impl IndexedRow {
    pub(super) fn value(self) -> IndexedValue {
        IndexedValue {
            pointer: self.pointer,
            digest: self.digest,
        }
    }
}

/// A row of `hapax.noted`.
#[derive(Serialize)]
pub(super) struct NotedRow {
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) what: i16,
    pub(super) no: i64,
}

/// A row of `hapax.work`.
#[derive(Serialize, Deserialize)]
pub(super) struct WorkRow {
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) destination: String,
    pub(super) class: i16,
    pub(super) state: i16,
    pub(super) wake_at: i64,
    pub(super) token: i64,
    pub(super) attempts: u32,
    pub(super) lost: u32,
    pub(super) generation: u32,
    pub(super) accepted_at: i64,
    pub(super) idempotency_key: Uuid,
    pub(super) lane: Option<String>,
    pub(super) lane_order: Option<i64>,
    pub(super) on_dead: Option<i16>,
    pub(super) replay: Option<Uuid>,
}

impl WorkRow {
    /// Exports a running delivery as waiting, without counting its attempt.
    pub(super) fn record(self) -> WorkRecord {
        let is_running = self.class == Class::Running.code();
        let due_at = if is_running {
            Some(self.accepted_at)
        } else if self.class == Class::Waiting.code() {
            None
        } else {
            Some(self.wake_at)
        };
        WorkRecord {
            destination: self.destination.into(),
            generation: Generation(self.generation),
            idempotency_key: IdempotencyKey::from_bytes(self.idempotency_key.into_bytes()),
            attempts: self.attempts.saturating_sub(u32::from(is_running)),
            lost: self.lost,
            due_at: due_at.map(Timestamp::from_micros),
            token: Token(self.token as u64),
            lane: in_lane(self.lane, self.lane_order, self.on_dead),
            replay: self.replay.map(id).map(ReplayJobId),
        }
    }
}

/// A row of `hapax.outcomes`.
#[derive(Serialize, Deserialize)]
pub(super) struct OutcomeRow {
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) destination: String,
    pub(super) token: i64,
    pub(super) state: i16,
    pub(super) is_current: bool,
    pub(super) holds: bool,
    pub(super) attempts: u32,
    pub(super) lost: u32,
    pub(super) finished_at: i64,
    pub(super) finished_no: i64,
    pub(super) generation: u32,
    pub(super) accepted_at: i64,
    pub(super) idempotency_key: Uuid,
    pub(super) error: Option<String>,
    pub(super) lane: Option<String>,
    pub(super) lane_order: Option<i64>,
    pub(super) on_dead: Option<i16>,
    pub(super) replay: Option<Uuid>,
}

impl OutcomeRow {
    pub(super) fn record(self) -> Result<OutcomeRecord, Failure> {
        Ok(OutcomeRecord {
            destination: self.destination.into(),
            token: Token(self.token as u64),
            state: state_of(self.state)?,
            is_last: self.is_current,
            holds_lane: self.holds,
            attempts: self.attempts,
            lost: self.lost,
            finished_at: Timestamp::from_micros(self.finished_at),
            finished_order: self.finished_no as u64,
            generation: Generation(self.generation),
            idempotency_key: IdempotencyKey::from_bytes(self.idempotency_key.into_bytes()),
            error: error(self.error)?,
            lane: in_lane(self.lane, self.lane_order, self.on_dead),
            replay: self.replay.map(id).map(ReplayJobId),
        })
    }
}

/// A row of `hapax.attempts`.
#[derive(Serialize, Deserialize)]
pub(super) struct AttemptRow {
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) no: i64,
    pub(super) token: i64,
    pub(super) generation: u32,
    pub(super) started_at: i64,
    pub(super) duration_ms: u32,
    pub(super) status: Option<i32>,
    pub(super) destination: String,
    pub(super) error: Option<String>,
    pub(super) excerpt: Binary,
    pub(super) message: Option<Binary>,
}

impl AttemptRow {
    pub(super) fn view(self) -> Result<AttemptView, Failure> {
        Ok(AttemptView {
            destination: self.destination.into(),
            generation: Generation(self.generation),
            token: Token(self.token as u64),
            attempt: Attempt {
                started_at: Timestamp::from_micros(self.started_at),
                duration_ms: self.duration_ms,
                status: self.status,
                excerpt: text(&self.excerpt),
                error: error(self.error)?,
                message: self.message.as_ref().map(text),
            },
        })
    }
}

/// A row of `hapax.duplicates`.
#[derive(Serialize, Deserialize)]
pub(super) struct DuplicateRow {
    pub(super) bucket: i16,
    pub(super) key: Uuid,
    pub(super) copies: i64,
    pub(super) last_at: i64,
    pub(super) gaps: Binary,
}

impl DuplicateRow {
    pub(super) fn tally(&self) -> DuplicateTally {
        DuplicateTally {
            count: self.copies as u64,
            last_at: Timestamp::from_micros(self.last_at),
            gaps_ms: crate::duplicates::gaps_of(&self.gaps.0),
        }
    }
}

/// A row of `hapax.conflicts`.
#[derive(Serialize, Deserialize)]
pub(super) struct ConflictRow {
    pub(super) bucket: i16,
    pub(super) first: Uuid,
    pub(super) raw_hash: Binary,
    pub(super) no: i64,
    pub(super) key: Uuid,
    pub(super) received_at: i64,
    pub(super) seen: i64,
    pub(super) released_as: Option<Uuid>,
    pub(super) source: String,
    pub(super) headers: Binary,
    pub(super) body: Binary,
}

/// A row of `hapax.same_body`.
#[derive(Serialize, Deserialize)]
pub(super) struct SameBodyRow {
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) earlier: Uuid,
}

/// A row of `hapax.bodies`.
#[derive(Serialize)]
pub(super) struct BodyRow {
    pub(super) bucket: i16,
    pub(super) scope: String,
    pub(super) raw_hash: Binary,
    pub(super) id: Uuid,
    pub(super) until: i64,
}

/// A row of `hapax.pauses`.
#[derive(Serialize)]
pub(super) struct PauseRow<'r> {
    pub(super) destination: &'r str,
    pub(super) at: i64,
    pub(super) by: &'r str,
    pub(super) why: &'r str,
}

/// A row of `hapax.audit`.
#[derive(Serialize)]
pub(super) struct AuditRow<'r> {
    pub(super) no: i64,
    pub(super) at: i64,
    pub(super) who: &'r str,
    pub(super) action: &'r str,
    pub(super) subject: &'r str,
    pub(super) detail: &'r str,
    pub(super) link: Option<Binary>,
}

pub(super) const fn id(uuid: Uuid) -> EventId {
    EventId::from_bytes(uuid.into_bytes())
}

pub(super) fn hash_of(bytes: &Binary) -> Result<BodyHash, Failure> {
    let bytes = bytes.0.as_slice().try_into();
    bytes
        .map(BodyHash::from_bytes)
        .map_err(|_| Failure::Unreadable("a stored hash has the wrong length".to_owned()))
}

fn text(bytes: &Binary) -> String {
    String::from_utf8_lossy(&bytes.0).into_owned()
}

fn error(name: Option<String>) -> Result<Option<ErrorClass>, Failure> {
    name.map(|name| {
        ErrorClass::from_name(&name)
            .ok_or_else(|| Failure::Unreadable(format!("`{name}` is not an error class")))
    })
    .transpose()
}

fn in_lane(key: Option<String>, place: Option<i64>, on_dead: Option<i16>) -> Option<InLane> {
    lane_of(key, on_dead).map(|lane| InLane {
        lane,
        place: place.unwrap_or(0) as u64,
    })
}
