//! Rewrites rows under the first key.

use hapax_core::store::{
    BodyNote, ConflictingBody, Error, EventContents, IdentityRecord, Record, Resealed, is_sealed,
};
use hapax_core::{BodyHash, EventId, Headers, Scope};

use super::Sealed;
use crate::contents::{has_digests, is_binding, is_digest};
use crate::keyring::Counted;
use crate::keys::KeyId;
use crate::texts;

impl Sealed {
    /// The parts of a record that are not under the first key, rewritten. Counts everything examined.
    pub(super) fn rewritten(&self, record: Record, counted: &mut Counted) -> Vec<Resealed> {
        let mut rows = Vec::new();
        match record {
            Record::Identity(identity) => self.identity(*identity, counted, &mut rows),
            // Names bound to bodies look alike in both forms, and live for hours.
            Record::Body(note) if !is_binding(&note.scope) => {
                if !note.scope.as_str().ends_with(BodyNote::SEALED) {
                    counted.add(None);
                    let after = self.contents.seal_note(note.clone());
                    rows.push(Resealed::Body { before: note, after });
                }
            }
            Record::Body(_) | Record::Pause(_) | Record::Job(_) | Record::Audit(_) => {}
        }
        rows
    }

    fn identity(&self, identity: IdentityRecord, counted: &mut Counted, rows: &mut Vec<Resealed>) {
        let IdentityRecord { key, entry, .. } = identity;
        let opened = self.contents.open_entry(entry.clone());
        for contents in identity.events {
            let is_plain_hash = contents.event.id == opened.id && contents.event.raw_hash == opened.raw_hash;
            self.event(contents, is_plain_hash, counted, rows);
        }
        for conflict in identity.conflicts {
            if self.is_left(&conflict.other_body.headers, counted) {
                let after = self.contents.open_conflicting_body(conflict.other_body.clone());
                let after = after.and_then(|other_body| self.contents.seal_conflicting_body(other_body));
                let before = conflict.other_body;
                rows.extend(or_warn(before.first, after).map(|after| Resealed::Conflict { before, after }));
            }
        }
        if !has_digests(&entry) {
            counted.add(None);
            let after = self.contents.seal_entry(entry.clone());
            rows.push(Resealed::Entry {
                key,
                before: entry,
                after,
            });
        }
    }

    fn event(
        &self,
        contents: EventContents,
        is_plain_hash: bool,
        counted: &mut Counted,
        rows: &mut Vec<Resealed>,
    ) {
        let EventContents {
            event: before,
            indexed,
            attempts,
            ..
        } = contents;
        let id = before.id;
        let is_left = if before.headers.is_erased() {
            // Only its hash is left.
            is_plain_hash.then(|| counted.add(None)).is_some()
        } else {
            self.is_left(&before.headers, counted)
        };
        if is_left {
            let after = self.contents.open_stored(before.clone());
            let after = after.and_then(|event| self.contents.seal_stored(event));
            rows.extend(or_warn(id, after).map(|after| Resealed::Event { before, after }));
        }
        for before in indexed.into_iter().filter(|value| !is_digest(value)) {
            counted.add(None);
            let after = self.contents.seal_indexed(before.clone());
            rows.push(Resealed::Indexed {
                event: id,
                before,
                after,
            });
        }
        for before in attempts {
            if texts::says_nothing(&before.attempt) {
                continue;
            }
            let key = texts::key_of(&before.attempt);
            counted.add(key);
            if key != Some(self.first()) {
                let after = texts::reseal_attempt(&self.contents.keys, id, before.clone());
                rows.extend(or_warn(id, after).map(|after| Resealed::Attempt {
                    event: id,
                    before,
                    after,
                }));
            }
        }
    }

    /// Whether headers, and the body that goes with them, need rewriting. Counts them.
    fn is_left(&self, headers: &Headers, counted: &mut Counted) -> bool {
        let stored = headers.as_bytes();
        let key = is_sealed(stored).then(|| KeyId::of_value(stored)).flatten();
        counted.add(key);
        key != Some(self.first())
    }

    pub(super) fn first(&self) -> KeyId {
        self.contents.keys.first_id()
    }

    /// Converts bodies remembered in the other form to the form written here, so that a repeated body is still found on
    /// the day that encryption is turned on or off.
    pub(super) async fn bring_over(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<(), Error> {
        let writes_plain = self.contents.writes_plain();
        if bodies.is_empty() || !(writes_plain || self.rows().plain) {
            return Ok(());
        }
        let name = |(scope, hash): (Scope, BodyHash)| {
            if writes_plain {
                self.contents.seal_body_name(&scope, hash)
            } else {
                (scope, hash)
            }
        };
        let found = self
            .inner
            .remembered(bodies.into_iter().map(name).collect())
            .await?;
        let moved = found.into_iter().map(|before| {
            let after = self.contents.seal_note(self.contents.open_note(before.clone()));
            Resealed::Body { before, after }
        });
        let moved: Vec<Resealed> = moved.collect();
        if moved.is_empty() {
            return Ok(());
        }
        self.inner.reseal(moved).await
    }

    /// The stored form of a row named by its plain form. None if it has changed.
    pub(super) async fn stored_form(&self, row: Resealed) -> Result<Option<Resealed>, Error> {
        let contents = &self.contents;
        Ok(match row {
            Resealed::Entry { key, before, after } => Some(Resealed::Entry {
                key,
                before: contents.seal_entry(before),
                after: contents.seal_entry(after),
            }),
            Resealed::Indexed { event, before, after } => Some(Resealed::Indexed {
                event,
                before: contents.seal_indexed(before),
                after: contents.seal_indexed(after),
            }),
            Resealed::Body { before, after } => Some(Resealed::Body {
                before: contents.seal_note(before),
                after: contents.seal_note(after),
            }),
            Resealed::Event { before, after } => {
                let Some(stored) = self.inner.get(before.id).await?.map(|record| record.event) else {
                    return Ok(None);
                };
                let is_same = contents.open_stored(stored.clone())?.headers == before.headers;
                let after = contents.seal_stored(after)?;
                is_same.then_some(Resealed::Event {
                    before: stored,
                    after,
                })
            }
            Resealed::Attempt { event, before, after } => {
                let Some(record) = self.inner.get(event).await? else {
                    return Ok(None);
                };
                let mut opened = record.attempts.clone();
                texts::open_attempts(&contents.keys, event, &mut opened)?;
                let mut pairs = record.attempts.into_iter().zip(opened);
                let stored = pairs
                    .find(|(_, opened)| *opened == before)
                    .map(|(stored, _)| stored);
                let at = (&after.destination, after.token);
                let attempt = texts::seal_attempt(&contents.keys, event, at, after.attempt.clone())?;
                let after = hapax_core::store::AttemptView { attempt, ..after };
                stored.map(|before| Resealed::Attempt { event, before, after })
            }
            Resealed::Conflict { before, after } => {
                let digest = contents.seal_body_hash(before.first, before.raw_hash);
                let Some(stored) = self.inner.conflict(before.first, digest).await? else {
                    return Ok(None);
                };
                let is_same = contents.open_conflicting_body(stored.clone())?.headers == before.headers;
                let after: ConflictingBody = contents.seal_conflicting_body(after)?;
                is_same.then_some(Resealed::Conflict {
                    before: stored,
                    after,
                })
            }
        })
    }
}

/// A row that cannot be opened stays as it is, and its key stays needed.
fn or_warn<T>(event: EventId, after: Result<T, Error>) -> Option<T> {
    after
        .inspect_err(|error| {
            tracing::warn!(%event, error = error as &dyn std::error::Error, "a row was not re-encrypted");
        })
        .ok()
}
