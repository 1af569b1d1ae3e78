//! Whether the process is ready to receive requests.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The phase of a process's life cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not listening for webhooks yet.
    Starting,
    /// Accepts requests.
    Serving,
    /// Finishes running work and accepts nothing new.
    Stopping,
}

/// The response of `/readyz`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReadyView {
    /// Whether the process is ready to receive webhooks.
    pub ready: bool,
    /// The phase of the process's life cycle.
    pub phase: Phase,
    /// The result of each check.
    pub checks: ChecksView,
}

/// The checks that readiness depends on.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ChecksView {
    /// Whether the store can write.
    pub store: CheckView,
}

/// The result of one check.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckView {
    /// Whether the check passed.
    pub ok: bool,
    /// Why it failed.
    pub message: Option<String>,
    /// How long the check took.
    pub took_ms: u64,
}
