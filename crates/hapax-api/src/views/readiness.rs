//! Whether the process should be sent work.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not listening for webhooks yet.
    Starting,
    /// Takes work.
    Serving,
    /// Finishes what runs and takes nothing new.
    Stopping,
}

/// What `/readyz` answers.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReadyView {
    /// Whether webhooks should be sent here.
    pub ready: bool,
    /// Where the process is in its life.
    pub phase: Phase,
    /// Each thing that was looked at.
    pub checks: ChecksView,
}

/// The things that readiness looks at.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ChecksView {
    /// Whether the store can write.
    pub store: CheckView,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckView {
    /// Whether it is as it should be.
    pub ok: bool,
    /// What is wrong with it.
    pub message: Option<String>,
    /// How long it took to find out.
    pub took_ms: u64,
}
