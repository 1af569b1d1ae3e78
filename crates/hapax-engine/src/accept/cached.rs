//! Duplicates of events committed moments ago, answered without the store.

use std::iter;
use std::time::Duration;

use hapax_core::{Identity, Key};

use super::directed::is_target;
use crate::engine::Inner;
use crate::incoming::Accepted;
use crate::requests::{Hashes, Keyed};
use crate::seen::Known;

impl Inner {
    /// Answers without the store if every event is a known duplicate. A conflict is never answered here, because its
    /// body must be stored first.
    pub(super) fn answer_from_cache(&self, arrivals: &[Keyed], now: Duration) -> Option<Vec<Accepted>> {
        let epoch = self.parts.store.connection_epoch();
        let mut answers = Vec::with_capacity(arrivals.len());
        for keyed in arrivals {
            answers.push(self.known_duplicate(keyed, now, epoch)?);
        }
        let tell = |(keyed, (key, known, event_id)): (&Keyed, (Key, Known, &String))| {
            let answer = Accepted::Duplicate {
                id: known.id,
                event_id: event_id.clone(),
                first_seen: known.first_seen,
            };
            self.gather
                .duplicate(key, known.first_seen, keyed.incoming.received_at);
            self.announce(&keyed.into(), &answer);
            answer
        };
        Some(arrivals.iter().zip(answers).map(tell).collect())
    }

    /// The cache entry for the same content, under the event's own id or another one.
    fn known_duplicate<'k>(
        &self,
        keyed: &'k Keyed,
        now: Duration,
        epoch: u64,
    ) -> Option<(Key, Known, &'k String)> {
        let aliases = keyed.aliases.iter().map(|alias| (alias.key(), alias));
        let mut identities = iter::once((keyed.key, &keyed.identity)).chain(aliases);
        identities.find_map(|(key, identity): (Key, &Identity)| {
            let known = self.seen.get(key, now, epoch)?;
            let first = (known.raw_hash, known.content_hash.as_deref());
            let is_duplicate = is_same_target(first, keyed.hashes()) && is_same(first, keyed.hashes());
            is_duplicate.then_some((key, known, &identity.event_id))
        })
    }
}

/// Whether a duplicate is known to be for the same target, if it names one. If this is false, the store decides.
fn is_same_target(first: Hashes<'_>, again: Hashes<'_>) -> bool {
    again
        .1
        .is_none_or(|target| !is_target(target) || first.1 == Some(target))
}

/// Whether two bodies are the same event. If the preset excludes fields and the first was hashed by the same rule, the
/// content hashes decide; otherwise the raw bytes do.
pub(super) fn is_same(first: Hashes<'_>, again: Hashes<'_>) -> bool {
    let is_same_content = |content| !is_target(content) && first.1 == Some(content);
    first.0 == again.0 || again.1.is_some_and(is_same_content)
}
