//! Reseal: rows are rewritten, each only if it is unchanged.

use hapax_core::store::{BodyNote, Resealed};
use hapax_core::{BodyHash, Scope};

use super::state::State;

impl State {
    pub(super) fn reseal(&mut self, row: Resealed) {
        match row {
            Resealed::Entry { key, before, after } => {
                if let Some(row) = self.ledger.get_mut(&key)
                    && (row.entry.id, row.entry.raw_hash) == (before.id, before.raw_hash)
                {
                    row.entry.raw_hash = after.raw_hash;
                    row.entry.content_hash = after.content_hash;
                }
            }
            Resealed::Event { before, after } => {
                if let Some(row) = self.events.get_mut(&before.id)
                    && row.event.headers == before.headers
                {
                    row.event = after;
                }
            }
            Resealed::Indexed { event, before, after } => {
                let row = self.events.get_mut(&event);
                let values = row.into_iter().flat_map(|row| &mut row.indexed);
                if let Some(value) = values.into_iter().find(|value| **value == before) {
                    *value = after;
                }
            }
            Resealed::Attempt { event, before, after } => {
                let views = self.attempts.get_mut(&event).into_iter().flatten();
                if let Some(view) = views.into_iter().find(|view| **view == before) {
                    view.attempt = after.attempt;
                }
            }
            Resealed::Conflict { before, after } => {
                if let Some(conflict) = self.conflict(before.first, before.raw_hash)
                    && conflict.other_body.headers == before.headers
                {
                    conflict.other_body = after;
                }
            }
            Resealed::Body { before, after } => self.rename_body(&before, after),
        }
    }

    fn rename_body(&mut self, before: &BodyNote, after: BodyNote) {
        let name = (before.scope.clone(), *before.raw_hash.as_bytes());
        let rows = self.bodies.get(&name).and_then(|rows| rows.first());
        if rows.is_some_and(|first| first.id == before.id)
            && let Some(rows) = self.bodies.remove(&name)
        {
            let name = (after.scope, *after.raw_hash.as_bytes());
            self.bodies.entry(name).or_insert(rows);
        }
    }

    pub(super) fn remembered(&self, bodies: &[(Scope, BodyHash)]) -> Vec<BodyNote> {
        let found = bodies.iter().filter_map(|(scope, raw_hash)| {
            let rows = self.bodies.get(&(scope.clone(), *raw_hash.as_bytes()))?;
            let first = rows.first()?;
            Some(BodyNote {
                scope: scope.clone(),
                raw_hash: *raw_hash,
                id: first.id,
                until: first.until,
            })
        });
        found.collect()
    }
}
