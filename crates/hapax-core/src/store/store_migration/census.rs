//! Row counts of a store, by which a migration is checked.

use serde::{Deserialize, Serialize};

/// Row counts, and the position of the store's sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// Ledger entries.
    pub identities: u64,
    /// Events whose payload is stored.
    pub events: u64,
    /// Unfinished deliveries.
    pub unfinished: u64,
    /// Finished deliveries, including history.
    pub outcomes: u64,
    /// Recorded attempts.
    pub attempts: u64,
    /// Identities with duplicates.
    pub duplicates: u64,
    /// Conflicting bodies.
    pub conflicts: u64,
    /// Remembered bodies of providers that do not sign the event id.
    pub bodies: u64,
    /// Events whose body equals that of an earlier event.
    pub same_bodies: u64,
    /// Paused destinations.
    pub pauses: u64,
    /// Replay jobs.
    pub jobs: u64,
    /// Entries of the audit trail.
    pub audit: u64,
    /// Every token, position and order that the store has assigned is below this number.
    pub numbers_below: u64,
}

impl Census {
    /// The counts by name, which are equal in both stores after a complete migration.
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

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.counts().iter().all(|(_, count)| *count == 0)
    }

    /// The total number of records in an export.
    pub const fn records(&self) -> u64 {
        self.identities + self.bodies + self.pauses + self.jobs + self.audit
    }
}
