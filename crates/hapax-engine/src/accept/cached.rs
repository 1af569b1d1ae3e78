//! Duplicates of events committed moments ago, answered without the store.

use std::iter;
use std::time::Duration;

use hapax_core::{ContentHash, EventId, Fingerprinter, Key, Timestamp};

use super::arrival::Arrival;
use super::directed::is_target;
use crate::engine::Inner;
use crate::incoming::Accepted;
use crate::known_bodies::KnownBody;
use crate::requests::{Hashes, Keyed};

/// A known event with the same content.
struct KnownEvent {
    /// The key under which it is known.
    key: Key,
    /// The alias with this key; none if it is known under the event's own id.
    alias: Option<usize>,
    id: EventId,
    first_seen: Timestamp,
}

impl Inner {
    /// Answers without the store if every event is a known duplicate. A conflict is never answered here, because its
    /// body must be stored first.
    pub(super) fn answer_from_cache(
        &self,
        arrivals: &mut [Keyed],
        fingerprints: Option<&Fingerprinter>,
        now: Duration,
    ) -> Option<Vec<Accepted>> {
        let epoch = self.parts.store.connection_epoch();
        // Nearly every request has one event.
        if let [only] = arrivals {
            let first = self.known_duplicate(only, now, epoch)?;
            self.remember_body(only, &first, fingerprints);
            return Some(vec![self.answer_duplicate(only, &first)]);
        }
        let mut all = Vec::with_capacity(arrivals.len());
        for keyed in &*arrivals {
            all.push(self.known_duplicate(keyed, now, epoch)?);
        }
        let answers = arrivals.iter_mut().zip(&all);
        Some(
            answers
                .map(|(keyed, first)| self.answer_duplicate(keyed, first))
                .collect(),
        )
    }

    /// Remembers the body of a duplicate, unless it is known only under another id than its own.
    fn remember_body(&self, keyed: &Keyed, first: &KnownEvent, fingerprints: Option<&Fingerprinter>) {
        let fingerprints = fingerprints.filter(|_| first.alias.is_none());
        let fingerprint = fingerprints.and_then(|fingerprints| fingerprints.of(&keyed.incoming.body));
        if let Some(fingerprint) = fingerprint {
            let body = KnownBody {
                key: first.key,
                id: first.id,
                event_id: keyed.identity.event_id.as_str().into(),
            };
            self.bodies.put(fingerprint, body);
        }
    }

    /// Counts a known duplicate, and answers with the id under which it is known.
    fn answer_duplicate(&self, keyed: &mut Keyed, first: &KnownEvent) -> Accepted {
        let known_as = match first.alias {
            Some(alias) => &mut keyed.aliases[alias],
            None => &mut keyed.identity,
        };
        let answer = Accepted::Duplicate {
            id: first.id,
            event_id: std::mem::take(&mut known_as.event_id),
            first_seen: first.first_seen,
        };
        let incoming = &keyed.incoming;
        self.gather
            .duplicate(first.key, first.first_seen, incoming.received_at);
        self.announce(&Arrival::of_duplicate(incoming), &answer);
        answer
    }

    /// The cache entry for the same content, under the event's own id or another one.
    fn known_duplicate(&self, keyed: &Keyed, now: Duration, epoch: u64) -> Option<KnownEvent> {
        let own = keyed.incoming.content_hash.as_ref();
        let aliases = keyed.aliases.iter().enumerate();
        let aliases = aliases.map(|(index, alias)| (Some(index), alias.key()));
        let mut keys = iter::once((None, keyed.key)).chain(aliases);
        keys.find_map(|(alias, key)| {
            let (first, raw_hash, is_same_target, is_same_content) =
                self.seen.get(key, now, epoch, |known| {
                    let content = known.content_hash.as_deref();
                    let first = KnownEvent {
                        key,
                        alias,
                        id: known.id,
                        first_seen: known.first_seen,
                    };
                    let (is_same_target, is_same_content) =
                        (is_same_target(content, own), is_same_content(content, own));
                    (first, known.raw_hash, is_same_target, is_same_content)
                })?;
            // The raw bytes are hashed only if the content hashes do not decide.
            let is_duplicate = is_same_target && (is_same_content || raw_hash == keyed.raw_hash());
            is_duplicate.then_some(first)
        })
    }
}

/// Whether a duplicate is known to be for the same target, if it names one. If this is false, the store decides.
fn is_same_target(first: Option<&ContentHash>, again: Option<&ContentHash>) -> bool {
    again.is_none_or(|target| !is_target(target) || first == Some(target))
}

/// Whether both bodies were hashed by the same rule, and the rest is the same without the fields that the rule excludes.
fn is_same_content(first: Option<&ContentHash>, again: Option<&ContentHash>) -> bool {
    again.is_some_and(|content| !is_target(content) && first == Some(content))
}

/// Whether two bodies are the same event. If the preset excludes fields and the first was hashed by the same rule, the
/// content hashes decide; otherwise the raw bytes do.
pub(super) fn is_same(first: Hashes<'_>, again: Hashes<'_>) -> bool {
    first.0 == again.0 || is_same_content(first.1, again.1)
}
