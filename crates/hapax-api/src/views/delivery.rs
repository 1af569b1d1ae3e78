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
    /// The `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

/// Dead deliveries by destination and error, largest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DeadGroupsView {
    /// The groups.
    pub groups: Vec<DeadGroupView>,
}

/// Dead deliveries with the same destination and error.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeadGroupView {
    /// The destination's name, or its id if it is no longer configured.
    pub destination: String,
    /// The destination's stable id.
    pub destination_id: String,
    /// Why they are dead.
    pub error: Option<String>,
    /// The number of deliveries.
    pub count: u64,
    /// When the first of them became dead.
    #[schema(value_type = String, format = DateTime)]
    pub first_at: Timestamp,
    /// When the last of them became dead.
    #[schema(value_type = String, format = DateTime)]
    pub last_at: Timestamp,
    /// The event of the last one.
    #[schema(value_type = String, format = "uuid")]
    pub last_event: EventId,
    /// A query that selects their events; pass it with `to` to replay them.
    pub q: String,
}

/// The delivery of one event to one destination.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    /// The event.
    #[schema(value_type = String, format = "uuid")]
    pub event: EventId,
    /// The destination's name, or its id if it is no longer configured.
    pub destination: String,
    /// The destination's stable id.
    pub destination_id: String,
    /// The status of the delivery.
    pub status: DeliveryStatus,
    /// The generation of the event's identity.
    pub generation: u32,
    /// The idempotency key that every attempt carries.
    pub idempotency_key: String,
    /// The number of counted attempts.
    pub attempts: u32,
    /// The number of lost leases.
    pub lost: u32,
    /// When the next attempt is due; null while it waits in its lane.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub due_at: Option<Timestamp>,
    /// When it finished.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// Why it is dead.
    pub error: Option<String>,
    /// The key of its lane, if the destination is ordered.
    pub lane: Option<String>,
    /// The bulk replay that requeued it.
    pub replay: Option<String>,
}

/// One attempt of a delivery.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    /// The destination's name, or its id if it is no longer configured.
    pub destination: String,
    /// The generation of the event's identity.
    pub generation: u32,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_ms: u32,
    /// The HTTP status or the exit code.
    pub status: Option<i32>,
    /// The kind of error, if it failed.
    pub error: Option<String>,
    /// The error message.
    pub message: Option<String>,
    /// The beginning of the destination's response.
    pub excerpt: String,
}

/// The status of a delivery: the store's states, and `held`, which follows from the configuration or the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Waiting for its first attempt, or behind another delivery in its lane.
    Pending,
    /// An attempt is running.
    Running,
    /// Failed; waiting for its next attempt.
    Retrying,
    /// Waiting until its destination is resumed or configured again; with the error `same_body`, until an operator
    /// releases or discards it.
    Held,
    /// Finished successfully.
    Completed,
    /// A dead letter: no further attempts are made unless it is replayed.
    Dead,
    /// A dead letter that an operator has discarded.
    Discarded,
}

/// Whether a destination accepts deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// It accepts deliveries.
    Open,
    /// It is paused or not configured.
    Closed,
}

impl DeliveryStatus {
    /// The status of a delivery in `state` at a destination.
    pub fn of(state: DeliveryState, error: Option<ErrorClass>, intake: Intake) -> Self {
        match (state, intake) {
            (DeliveryState::Dead, _) if error == Some(ErrorClass::SameBody) => Self::Held,
            (DeliveryState::Pending | DeliveryState::Retrying, Intake::Closed) => Self::Held,
            (DeliveryState::Pending, Intake::Open) => Self::Pending,
            (DeliveryState::Retrying, Intake::Open) => Self::Retrying,
            // An attempt that is running when the destination is paused still finishes.
            (DeliveryState::Running, Intake::Open | Intake::Closed) => Self::Running,
            (DeliveryState::Completed, Intake::Open | Intake::Closed) => Self::Completed,
            (DeliveryState::Dead, Intake::Open | Intake::Closed) => Self::Dead,
            (DeliveryState::Discarded, Intake::Open | Intake::Closed) => Self::Discarded,
        }
    }

    /// The name of the status in the API.
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
