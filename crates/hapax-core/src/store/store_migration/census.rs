//! How many of everything a store has: what a copy is measured by.

use serde::{Deserialize, Serialize};

/// Counts of rows, and where the store's numbers stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// Ledger entries.
    pub identities: u64,
    /// Events whose payload is kept.
    pub events: u64,
    /// Unfinished deliveries.
    pub unfinished: u64,
    /// Finished ones, history included.
    pub outcomes: u64,
    /// Attempts.
    pub attempts: u64,
    /// Identities with copies.
    pub duplicates: u64,
    /// Other bodies under a known identity.
    pub conflicts: u64,
    /// Bodies whose sender does not sign the id.
    pub bodies: u64,
    /// Events with an earlier one's body.
    pub same_bodies: u64,
    /// Paused destinations.
    pub pauses: u64,
    /// Bulk replays.
    pub jobs: u64,
    /// Entries of the audit trail.
    pub audit: u64,
    /// Every token, place and order that the store has given out is below.
    pub numbers_below: u64,
}

impl Census {
    /// The counts by name: what a whole copy has the same of.
    pub const fn counts(&self) -> [(&'static str, u64); 12] {
        [
            ("identities", self.identities),
            ("events", self.events),
            ("unfinished deliveries", self.unfinished),
            ("outcomes", self.outcomes),
            ("attempts", self.attempts),
            ("identities with duplicates", self.duplicates),
            ("conflicts", self.conflicts),
            ("bodies", self.bodies),
            ("same bodies", self.same_bodies),
            ("pauses", self.pauses),
            ("bulk replays", self.jobs),
            ("audit entries", self.audit),
        ]
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.counts().iter().all(|(_, count)| *count == 0)
    }

    /// How many records an export has in all.
    pub const fn records(&self) -> u64 {
        self.identities + self.bodies + self.pauses + self.jobs + self.audit
    }
}
