//! The model's store migration: export and import.

mod export;
mod import;

use async_trait::async_trait;
use hapax_core::StoreMigration;
use hapax_core::store::{
    Census, Error, ImportBegun, ImportMark, MigrationCursor, MigrationPage, Origin, Record,
};

use super::MemoryStore;

#[async_trait]
impl StoreMigration for MemoryStore {
    async fn origin(&self) -> Result<Origin, Error> {
        Ok(self.step(|state, now| *state.origin.get_or_insert(Origin(now.as_micros()))))
    }

    async fn census(&self) -> Result<Census, Error> {
        Ok(self.step(|state, _| state.census()))
    }

    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error> {
        Ok(self.step(|state, _| state.export(after, limit as usize)))
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        Ok(self.step(|state, _| {
            if let Some(known) = &state.import {
                return ImportBegun::Unfinished(known.clone());
            }
            if !state.census().is_empty() {
                return ImportBegun::Occupied;
            }
            state.import = Some(mark.clone());
            state.pass_numbers(mark.census.numbers_below);
            ImportBegun::Started
        }))
    }

    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error> {
        self.step(|state, _| {
            let Some(mark) = &mut state.import else {
                return Err(Error::Rejected {
                    message: "no migration into this store was started".to_owned(),
                });
            };
            mark.reached = reached.clone();
            for record in records {
                state.import(record);
            }
            Ok(())
        })
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.step(|state, _| state.import = None);
        Ok(())
    }
}
