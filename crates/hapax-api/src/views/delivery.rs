//! Deliveries and their attempts.

use std::fmt;

use hapax_core::{DeliveryState, ErrorClass, EventId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One page of finished deliveries, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DeliveriesView {
    /// The deliveries.
    pub deliveries: Vec<DeliveryView>,
    /// What to pass as `cursor` to go on; null at the end.
    pub next: Option<String>,
}

/// Dead deliveries by destination and error, largest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DeadGroupsView {
    /// The groups.
    pub groups: Vec<DeadGroupView>,
}

/// Dead deliveries that have a destination and an error in common.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeadGroupView {
    /// The destination's name; its id, where it is not configured any more.
    pub destination: String,
    /// The destination's stable id.
    pub destination_id: String,
    /// Why they were given up.
    pub error: Option<String>,
    /// How many.
    pub count: u64,
    /// When the first of them died.
    #[schema(value_type = String, format = DateTime)]
    pub first_at: Timestamp,
    /// When the last did.
    #[schema(value_type = String, format = DateTime)]
    pub last_at: Timestamp,
    /// The event of the last.
    #[schema(value_type = String, format = "uuid")]
    pub last_event: EventId,
    /// Their events in the query language: what to replay, together with `to`.
    pub q: String,
}

/// One event on its way to one destination.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    /// The event.
    #[schema(value_type = String, format = "uuid")]
    pub event: EventId,
    /// The destination's name; its id, where it is not configured any more.
    pub destination: String,
    /// The destination's stable id.
    pub destination_id: String,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// Which generation of the event.
    pub generation: u32,
    /// What every attempt carries.
    pub idempotency_key: String,
    /// Attempts counted.
    pub attempts: u32,
    /// Leases lost.
    pub lost: u32,
    /// When it is due; null while it waits in its lane.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub due_at: Option<Timestamp>,
    /// When it finished.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// Why it is dead.
    pub error: Option<String>,
    /// The key it keeps order by.
    pub lane: Option<String>,
    /// The bulk replay that put it back.
    pub replay: Option<String>,
}

/// One try.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    /// The destination's name; its id, where it is not configured any more.
    pub destination: String,
    /// Which generation of the event.
    pub generation: u32,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_ms: u32,
    /// The HTTP status or the exit code.
    pub status: Option<i32>,
    /// What went wrong, if anything did.
    pub error: Option<String>,
    /// The error in words.
    pub message: Option<String>,
    /// The beginning of what the destination answered.
    pub excerpt: String,
}

/// Where a delivery stands. The store's states, and `held`, which follows from the configuration or from the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Waits for its first attempt, or behind another in its lane.
    Pending,
    /// Runs now.
    Running,
    /// Failed, waits for its next attempt.
    Retrying,
    /// Waits until its destination is resumed or configured again; with the error `same_body`, until an operator releases
    /// or discards it.
    Held,
    /// Done.
    Completed,
    /// Given up.
    Dead,
    /// Given up, and an operator said that it does not matter.
    Discarded,
}

/// Whether a destination takes work now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// It does.
    Open,
    /// It is paused or not configured.
    Closed,
}

impl DeliveryStatus {
    /// What to show of a delivery in `state` at a destination.
    pub fn of(state: DeliveryState, error: Option<ErrorClass>, intake: Intake) -> Self {
        match (state, intake) {
            (DeliveryState::Dead, _) if error == Some(ErrorClass::SameBody) => Self::Held,
            (DeliveryState::Pending | DeliveryState::Retrying, Intake::Closed) => Self::Held,
            (DeliveryState::Pending, Intake::Open) => Self::Pending,
            (DeliveryState::Retrying, Intake::Open) => Self::Retrying,
            // What runs at the moment of the pause still finishes.
            (DeliveryState::Running, Intake::Open | Intake::Closed) => Self::Running,
            (DeliveryState::Completed, Intake::Open | Intake::Closed) => Self::Completed,
            (DeliveryState::Dead, Intake::Open | Intake::Closed) => Self::Dead,
            (DeliveryState::Discarded, Intake::Open | Intake::Closed) => Self::Discarded,
        }
    }

    /// As it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Held => "held",
            Self::Completed => "completed",
            Self::Dead => "dead",
            Self::Discarded => "discarded",
        }
    }
}

impl fmt::Display for DeliveryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waiting_deliveries_are_held() {
        let held: Vec<_> = DeliveryState::ALL
            .into_iter()
            .filter(|state| DeliveryStatus::of(*state, None, Intake::Closed) == DeliveryStatus::Held)
            .collect();
        assert_eq!(held, [DeliveryState::Pending, DeliveryState::Retrying]);
    }

    #[test]
    fn an_open_destination_shows_the_stores_states_as_they_are() {
        for state in DeliveryState::ALL {
            assert_eq!(
                DeliveryStatus::of(state, None, Intake::Open).as_str(),
                state.as_str()
            );
        }
    }
}
