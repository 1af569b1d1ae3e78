//! Migrations pass records in plain: each side has its own keys, or none.

use std::sync::Arc;

use async_trait::async_trait;
use hapax_core::StoreMigration;
use hapax_core::store::{
    AttemptView, BodyNote, Census, ConflictRecord, Error, EventContents, IdentityRecord, ImportBegun,
    ImportMark, MigrationCursor, MigrationPage, Origin, Record,
};

use super::Sealed;
use crate::texts;

/// Remembered bodies read at a time.
const BODIES_PAGE: u32 = 10_000;

#[async_trait]
impl StoreMigration for Sealed {
    async fn origin(&self) -> Result<Origin, Error> {
        self.inner.origin().await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.inner.census().await
    }

    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error> {
        if let MigrationCursor::Bodies(after) = after {
            let after = after
                .as_ref()
                .map(|(scope, hash)| place_of(scope.as_str(), hash.as_bytes()));
            return self.bodies(after, limit).await;
        }
        let page = self.inner.export(after, limit).await?;
        let records = page.records.into_iter().map(|record| self.open_record(record));
        Ok(MigrationPage {
            records: records.collect::<Result<_, _>>()?,
            next: page.next,
        })
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        self.inner.begin_import(mark).await
    }

    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error> {
        let records = records.into_iter().map(|record| self.seal_record(record));
        let records = records.collect::<Result<_, Error>>()?;
        self.inner.import(records, reached).await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.inner.finish_import().await
    }
}

impl Sealed {
    /// Remembered bodies, in the order of their plain hashes, which no store knows. All are read and sorted first,
    /// which takes about a hundred bytes of memory each.
    async fn bodies(&self, after: Option<Vec<u8>>, limit: u32) -> Result<MigrationPage, Error> {
        let held = || self.exported.lock();
        if after.is_none() || held().is_empty() {
            let notes = self.sorted_bodies().await?;
            *held() = Arc::new(notes);
        }
        let notes = Arc::clone(&held());
        let from = after.map_or(0, |after| notes.partition_point(|note| place(note) <= after));
        let until = notes.len().min(from + limit as usize);
        let next = match notes[from..until].last() {
            Some(last) if until < notes.len() => {
                MigrationCursor::Bodies(Some((last.scope.clone(), last.raw_hash)))
            }
            Some(_) | None => {
                *held() = Arc::default();
                MigrationCursor::Pauses
            }
        };
        Ok(MigrationPage {
            records: notes[from..until].iter().cloned().map(Record::Body).collect(),
            next: Some(next),
        })
    }

    async fn sorted_bodies(&self) -> Result<Vec<BodyNote>, Error> {
        let mut notes = Vec::new();
        let mut next = Some(MigrationCursor::Bodies(None));
        while let Some(cursor @ MigrationCursor::Bodies(_)) = next {
            let page = self.inner.export(&cursor, BODIES_PAGE).await?;
            notes.extend(page.records.into_iter().filter_map(|record| match record {
                Record::Body(note) => Some(self.contents.open_note(note)),
                Record::Identity(_) | Record::Pause(_) | Record::Job(_) | Record::Audit(_) => None,
            }));
            next = page.next;
        }
        notes.sort_by_cached_key(place);
        Ok(notes)
    }

    fn open_record(&self, record: Record) -> Result<Record, Error> {
        Ok(match record {
            Record::Identity(identity) => {
                let entry = self.contents.open_entry(identity.entry);
                let plain = self.rows().plain;
                let events = identity.events.into_iter().map(|event| {
                    let contents = self.open_contents(event)?;
                    Ok::<_, Error>(EventContents {
                        event: self.contents.open_erased(contents.event, Some(&entry), plain),
                        ..contents
                    })
                });
                let conflicts = identity.conflicts.into_iter().map(|conflict| {
                    Ok::<_, Error>(ConflictRecord {
                        other_body: self.contents.open_conflicting_body(conflict.other_body)?,
                        ..conflict
                    })
                });
                Record::Identity(Box::new(IdentityRecord {
                    events: events.collect::<Result<_, _>>()?,
                    conflicts: conflicts.collect::<Result<_, _>>()?,
                    entry,
                    ..*identity
                }))
            }
            Record::Body(note) => Record::Body(self.contents.open_note(note)),
            Record::Pause(_) | Record::Job(_) | Record::Audit(_) => record,
        })
    }

    fn open_contents(&self, mut contents: EventContents) -> Result<EventContents, Error> {
        let id = contents.event.id;
        texts::open_attempts(&self.contents.keys, id, &mut contents.attempts)?;
        let indexed = contents
            .indexed
            .into_iter()
            .map(|value| self.contents.open_indexed(value));
        let mut indexed: Vec<_> = indexed.collect();
        indexed.sort_unstable();
        Ok(EventContents {
            event: self.contents.open_stored(contents.event)?,
            indexed,
            ..contents
        })
    }

    fn seal_record(&self, record: Record) -> Result<Record, Error> {
        Ok(match record {
            Record::Identity(identity) => {
                let events = identity.events.into_iter().map(|event| self.seal_contents(event));
                let conflicts = identity.conflicts.into_iter().map(|conflict| {
                    Ok::<_, Error>(ConflictRecord {
                        other_body: self.contents.seal_conflicting_body(conflict.other_body)?,
                        ..conflict
                    })
                });
                Record::Identity(Box::new(IdentityRecord {
                    entry: self.contents.seal_entry(identity.entry),
                    events: events.collect::<Result<_, _>>()?,
                    conflicts: conflicts.collect::<Result<_, _>>()?,
                    ..*identity
                }))
            }
            Record::Body(note) => Record::Body(self.contents.seal_note(note)),
            Record::Pause(_) | Record::Job(_) | Record::Audit(_) => record,
        })
    }

    fn seal_contents(&self, contents: EventContents) -> Result<EventContents, Error> {
        let id = contents.event.id;
        let attempts = contents.attempts.into_iter().map(|view| {
            let at = (&view.destination, view.token);
            Ok::<_, Error>(AttemptView {
                attempt: texts::seal_attempt(&self.contents.keys, id, at, view.attempt)?,
                ..view
            })
        });
        Ok(EventContents {
            event: self.contents.seal_stored(contents.event)?,
            indexed: contents
                .indexed
                .into_iter()
                .map(|value| self.contents.seal_indexed(value))
                .collect(),
            attempts: attempts.collect::<Result<_, _>>()?,
            ..contents
        })
    }
}

fn place(note: &BodyNote) -> Vec<u8> {
    place_of(note.scope.as_str(), note.raw_hash.as_bytes())
}

/// The order of [`Record::place`].
fn place_of(scope: &str, hash: &[u8]) -> Vec<u8> {
    [scope.as_bytes(), &[0], hash].concat()
}
