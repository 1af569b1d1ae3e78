//! The id of a replay job, which queries and jobs share.

use serde::{Deserialize, Serialize};

use crate::EventId;

/// The id of a replay job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplayJobId(pub EventId);

impl std::fmt::Display for ReplayJobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
