//! Counts of ledger entries and events, kept as sums, so that rows are never counted. Each connection has its own rows:
//! with one row for all, every accept would wait for the previous one.

use std::collections::BTreeMap;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::session::Session;

const ADD: &str = "
    INSERT INTO hapax.tallies AS t {sorted rows}
    ON CONFLICT (bucket, kind, scope) DO UPDATE SET entries = t.entries + excluded.entries";

/// The kind under which events are counted.
pub(crate) const EVENTS: i16 = 0;
/// The kind under which ledger entries are counted, by scope.
pub(crate) const LEDGER: i16 = 1;

/// Changes of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    changes: BTreeMap<(i16, String), i64>,
}

impl Tallies {
    /// Adds to the number of events.
    pub(crate) fn events(&mut self, change: i64) {
        if change != 0 {
            *self.changes.entry((EVENTS, String::new())).or_default() += change;
        }
    }

    /// Adds to the number of ledger entries of a scope.
    pub(crate) fn ledger(&mut self, scope: &str, change: i64) {
        *self.changes.entry((LEDGER, scope.to_owned())).or_default() += change;
    }

    /// Writes the sums as the transaction's last step, so that their rows are locked only briefly.
    pub(crate) async fn flush(&self, session: &Session) -> Result<(), Failure> {
        self.flush_in(session, session.slot()).await
    }

    /// Writes the sums into the rows of a bucket.
    pub(crate) async fn flush_in(&self, session: &Session, bucket: i16) -> Result<(), Failure> {
        session.write(ADD, &self.rows(bucket)).await
    }

    /// The changes as rows of a bucket, in the order in which they are locked.
    pub(crate) fn rows(&self, bucket: i16) -> Batch<'_> {
        Batch::in_buckets(self.changes.iter().map(|_| bucket))
            .column("kind", self.changes.keys().map(|(kind, _)| *kind))
            .column("scope", self.changes.keys().map(|(_, scope)| scope.as_str()))
            .column("entries", self.changes.values().copied())
    }
}
