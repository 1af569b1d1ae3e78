//! Unfinished deliveries and outcomes as they are stored. `scripts/work.lua` reads and writes the same.

use hapax_core::store::ReplayJobId;
use hapax_core::{
    DeliveryState, DestinationId, ErrorClass, EventId, Generation, Lane, OnDead, Timestamp, Token,
};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, damaged};

/// A delivery that is not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) generation: u32,
    pub(crate) attempts: u32,
    pub(crate) lost: u32,
    pub(crate) token: u64,
    /// Distinguishes one stay in a lane from the next.
    pub(crate) ticket: u64,
    /// The number under which it last had the turn in its lane, or gave way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<u64>,
    /// When it is due; `None` while it is running or waits in its lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<i64>,
    /// The end of its lease, while it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<i64>,
    /// The owner and token of its last lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) holder: Option<String>,
    #[serde(flatten)]
    pub(crate) stay: Stay,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replay: Option<String>,
}

/// A finished delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) state: String,
    pub(crate) attempts: u32,
    pub(crate) lost: u32,
    pub(crate) finished: i64,
    pub(crate) order: u64,
    pub(crate) generation: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    pub(crate) ticket: u64,
    #[serde(flatten)]
    pub(crate) stay: Stay,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replay: Option<String>,
    /// Whether it is a dead head that holds its lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) holds: Option<bool>,
}

/// A lane and a position in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stay {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skip: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<u64>,
}

impl Work {
    pub(crate) const fn state(&self) -> DeliveryState {
        match self.lease {
            Some(_) => DeliveryState::Running,
            None => DeliveryState::waiting(self.attempts),
        }
    }

    /// The queue of a delivery with a due time, without its destination.
    pub(crate) const fn queue(&self) -> char {
        if self.lost > 0 { 's' } else { 'q' }
    }

    /// Attempts that ended and left it unfinished.
    pub(crate) const fn failures(&self) -> u32 {
        match self.lease {
            Some(_) => self.attempts.saturating_sub(1),
            None => self.attempts,
        }
    }

    pub(crate) const fn generation(&self) -> Generation {
        Generation(self.generation)
    }

    pub(crate) const fn token(&self) -> Token {
        Token(self.token)
    }

    pub(crate) fn due_at(&self) -> Option<Timestamp> {
        self.due.map(Timestamp::from_micros)
    }

    pub(crate) fn replay(&self) -> Option<ReplayJobId> {
        job(self.replay.as_ref())
    }
}

impl Outcome {
    pub(crate) fn state(&self) -> Result<DeliveryState, Failure> {
        DeliveryState::from_name(&self.state).ok_or_else(|| damaged("the state of an outcome"))
    }

    pub(crate) fn error(&self) -> Option<ErrorClass> {
        self.error.as_deref().and_then(ErrorClass::from_name)
    }

    pub(crate) const fn generation(&self) -> Generation {
        Generation(self.generation)
    }

    pub(crate) const fn finished_at(&self) -> Timestamp {
        Timestamp::from_micros(self.finished)
    }

    pub(crate) fn holds_lane(&self) -> bool {
        self.holds == Some(true)
    }

    pub(crate) fn replay(&self) -> Option<ReplayJobId> {
        job(self.replay.as_ref())
    }
}

impl Stay {
    pub(crate) fn in_lane(lane: Option<&Lane>, place: Option<u64>) -> Self {
        Self {
            lane: lane.map(|lane| lane.key.clone()),
            skip: lane.filter(|lane| lane.on_dead == OnDead::Skip).map(|_| true),
            place,
        }
    }

    pub(crate) fn lane(&self) -> Option<Lane> {
        let key = self.lane.clone()?;
        let on_dead = match self.skip {
            Some(true) => OnDead::Skip,
            Some(false) | None => OnDead::Hold,
        };
        Some(Lane { key, on_dead })
    }
}

/// A job's id as text, because values that scripts read must not contain other bytes.
pub(crate) fn job_text(job: Option<ReplayJobId>) -> Option<String> {
    job.map(|job| job.to_string())
}

fn job(text: Option<&String>) -> Option<ReplayJobId> {
    text?.parse().ok().map(ReplayJobId)
}

/// A member of the set of running deliveries.
pub(crate) fn member(id: EventId, to: &DestinationId) -> Vec<u8> {
    [id.as_bytes(), to.as_str().as_bytes()].concat()
}

/// A member of the lists of dead and discarded deliveries.
pub(crate) fn ended_member(id: EventId, to: &DestinationId, error: Option<&str>) -> Vec<u8> {
    let mut member = member(id, to);
    member.push(0);
    member.extend(error.unwrap_or_default().as_bytes());
    member
}
