//! Records gathered off the hot path: duplicates, same bodies, and conflicts.

use hapax_core::store::{
    BodyNote, CONFLICTS_MAX, ConflictRecorded, ConflictingBody, DuplicateNote, Error, GAPS_MAX,
};
use hapax_core::{BodyHash, EventId};

use super::state::{BodyRow, Conflict, State};

impl State {
    pub(super) fn record_conflicts(
        &mut self,
        other_body: ConflictingBody,
    ) -> Result<ConflictRecorded, Error> {
        other_body.check()?;
        let conflicts = self.conflicts.entry(other_body.key).or_default();
        let same = conflicts.iter_mut().find(|known| {
            known.other_body.first == other_body.first && known.other_body.raw_hash == other_body.raw_hash
        });
        if let Some(known) = same {
            known.seen += 1;
            return Ok(ConflictRecorded::Again);
        }
        let kept = conflicts
            .iter()
            .filter(|known| known.other_body.first == other_body.first)
            .count();
        if kept >= CONFLICTS_MAX {
            return Ok(ConflictRecorded::Full);
        }
        conflicts.push(Conflict {
            other_body,
            seen: 1,
            released_as: None,
        });
        Ok(ConflictRecorded::Kept)
    }

    pub(super) fn conflict(&mut self, first: EventId, raw_hash: BodyHash) -> Option<&mut Conflict> {
        self.conflicts
            .values_mut()
            .flatten()
            .find(|conflict| conflict.other_body.first == first && conflict.other_body.raw_hash == raw_hash)
    }

    pub(super) fn note_duplicates(&mut self, note: DuplicateNote) {
        let tally = self.duplicates.entry(note.key).or_default();
        tally.count += note.count;
        tally.last_at = tally.last_at.max(note.last_at);
        tally.gaps_ms.extend(note.gaps_ms);
        let surplus = tally.gaps_ms.len().saturating_sub(GAPS_MAX);
        tally.gaps_ms.drain(..surplus);
    }

    pub(super) fn bind(&mut self, note: BodyNote) -> bool {
        let rows = self
            .bodies
            .entry((note.scope, *note.raw_hash.as_bytes()))
            .or_insert_with(|| {
                vec![BodyRow {
                    id: note.id,
                    until: note.until,
                }]
            });
        rows.first().is_some_and(|row| row.id == note.id)
    }

    /// Claims the body of a new event, or flags the event because another event has the same body. Returns whether it
    /// was flagged. `last` is the previous event of the identity; its claim passes to the new event.
    pub(super) fn claim_body(&mut self, note: BodyNote, last: Option<EventId>) -> bool {
        let rows = self
            .bodies
            .entry((note.scope, *note.raw_hash.as_bytes()))
            .or_default();
        match rows.first_mut() {
            Some(first) if first.id != note.id && Some(first.id) != last => {
                let first = first.id;
                if let Some(row) = self.events.get_mut(&note.id) {
                    row.same_body_as = Some(first);
                }
                return true;
            }
            Some(first) => {
                first.id = note.id;
                first.until = note.until;
            }
            None => rows.push(BodyRow {
                id: note.id,
                until: note.until,
            }),
        }
        false
    }

    pub(super) fn note_body(&mut self, note: BodyNote) {
        let rows = self
            .bodies
            .entry((note.scope, *note.raw_hash.as_bytes()))
            .or_default();
        if rows.iter().any(|row| row.id == note.id) {
            return;
        }
        let earlier = rows.first().map(|row| row.id);
        rows.push(BodyRow {
            id: note.id,
            until: note.until,
        });
        if let Some(row) = self.events.get_mut(&note.id)
            && earlier.is_some()
        {
            row.same_body_as = earlier;
        }
    }
}
