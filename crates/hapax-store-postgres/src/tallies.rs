//! Counts of ledger entries and events, kept as sums, so that no one ever counts rows. Each
//! connection has rows of its own: one row for all would make every accept wait for the last.

use std::collections::BTreeMap;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::session::Session;

const ADD: &str = "
    INSERT INTO hapax.tallies AS t {sorted rows}
    ON CONFLICT (bucket, kind, scope) DO UPDATE SET entries = t.entries + excluded.entries";

/// Counted under the kind of events.
pub(crate) const EVENTS: i16 = 0;
/// Counted under the kind of ledger entries, by scope.
pub(crate) const LEDGER: i16 = 1;

/// What a transaction adds.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    changes: BTreeMap<(i16, String), i64>,
}

impl Tallies {
    /// Events more or fewer.
    pub(crate) fn events(&mut self, change: i64) {
        if change != 0 {
            *self.changes.entry((EVENTS, String::new())).or_default() += change;
        }
    }

    /// Ledger entries of a scope, more or fewer.
    pub(crate) fn ledger(&mut self, scope: &str, change: i64) {
        *self.changes.entry((LEDGER, scope.to_owned())).or_default() += change;
    }

    /// Writes the sums, as the transaction's last step: no one waits long for their rows.
    pub(crate) async fn flush(&self, session: &Session) -> Result<(), Failure> {
        self.flush_in(session, session.slot()).await
    }

    /// Writes the sums into the rows of a bucket.
    pub(crate) async fn flush_in(&self, session: &Session, bucket: i16) -> Result<(), Failure> {
        let batch = Batch::in_buckets(self.changes.iter().map(|_| bucket))
            .column("kind", self.changes.keys().map(|(kind, _)| *kind))
            .column("scope", self.changes.keys().map(|(_, scope)| scope.as_str()))
            .column("entries", self.changes.values().copied());
        session.write(ADD, &batch).await
    }
}
