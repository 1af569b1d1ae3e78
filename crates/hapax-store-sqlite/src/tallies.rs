//! Counts of ledger entries and events, kept as sums that are written once per transaction, so that rows are never
//! counted.

use rusqlite::Connection;

use crate::failure::Failure;

/// The number under which events are counted; scopes have numbers from 1.
pub(crate) const EVENTS: i64 = 0;

/// Changes of the current transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies {
    changes: Vec<(i64, i64)>,
}

impl Tallies {
    /// Adds `change` to the count of `number`.
    pub(crate) fn add(&mut self, number: i64, change: i64) {
        // A transaction touches a handful of scopes, so a scan beats a map.
        match self.changes.iter_mut().find(|(found, _)| *found == number) {
            Some((_, sum)) => *sum += change,
            None => self.changes.push((number, change)),
        }
    }

    /// Writes the sums, as the transaction's last step.
    pub(crate) fn flush(&mut self, connection: &Connection) -> Result<(), Failure> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let mut upsert = connection.prepare_cached(
            "INSERT INTO tallies (scope, entries) VALUES (?1, ?2)
             ON CONFLICT (scope) DO UPDATE SET entries = entries + excluded.entries",
        )?;
        for (number, change) in self.changes.drain(..) {
            if change != 0 {
                upsert.execute([number, change])?;
            }
        }
        Ok(())
    }

    /// Drops changes that were not written.
    pub(crate) fn clear(&mut self) {
        self.changes.clear();
    }
}
