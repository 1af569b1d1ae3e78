//! Copies that need no store: those of events committed a moment ago.

use std::time::Duration;

use hapax_core::store::LedgerEntry;
use hapax_core::{BodyHash, ContentHash};

use super::Accepted;
use super::prepare::Keyed;
use crate::engine::Inner;

impl Inner {
    /// Answers without the store if every event is a known copy. A conflict is never answered here:
    /// its body must be kept first.
    pub(super) fn answer_from_cache(&self, arrivals: &[Keyed], now: Duration) -> Option<Vec<Accepted>> {
        let epoch = self.parts.store.connection_epoch();
        let mut answers = Vec::with_capacity(arrivals.len());
        for keyed in arrivals {
            let entry = self.seen.get(keyed.key, now, epoch)?;
            if !is_same(&entry, keyed.raw_hash, keyed.arrival.content_hash.as_ref()) {
                return None;
            }
            answers.push(Accepted::Duplicate {
                id: entry.id,
                event_id: keyed.identity.event_id.clone(),
                first_seen: entry.first_seen,
            });
        }
        for (Keyed { arrival, key, .. }, answer) in arrivals.iter().zip(&answers) {
            if let Accepted::Duplicate { first_seen, .. } = answer {
                self.gather.copy(*key, *first_seen, arrival.received_at);
            }
            self.announce(
                &arrival.source,
                arrival.event_type.as_deref(),
                arrival.received_at,
                answer,
            );
        }
        Some(answers)
    }
}

/// Whether a copy is the same event. A preset that leaves fields out decides by its content hash,
/// if the first was hashed by the same rule; otherwise the raw bytes decide.
pub(super) fn is_same(entry: &LedgerEntry, raw: BodyHash, content: Option<&ContentHash>) -> bool {
    if entry.raw_hash == raw {
        return true;
    }
    match (&entry.content_hash, content) {
        (Some(first), Some(copy)) => first == copy,
        (None, _) | (_, None) => false,
    }
}
