//! The model hands everything over and takes it in.

mod hand_over;
mod take_in;

use async_trait::async_trait;
use hapax_core::Transfer;
use hapax_core::store::{
    Census, Error, ImportBegun, ImportMark, Origin, Record, TransferCursor, TransferPage,
};

use super::MemoryStore;

#[async_trait]
impl Transfer for MemoryStore {
    async fn origin(&self) -> Result<Origin, Error> {
        Ok(self.step(|state, now| *state.origin.get_or_insert(Origin(now.as_micros()))))
    }

    async fn census(&self) -> Result<Census, Error> {
        Ok(self.step(|state, _| state.census()))
    }

    async fn export(&self, after: &TransferCursor, limit: u32) -> Result<TransferPage, Error> {
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

    async fn import(&self, records: Vec<Record>, reached: &TransferCursor) -> Result<(), Error> {
        self.step(|state, _| {
            let Some(mark) = &mut state.import else {
                return Err(Error::Rejected {
                    message: "no copy into this store was begun".to_owned(),
                });
            };
            mark.reached = reached.clone();
            for record in records {
                state.take_in(record);
            }
            Ok(())
        })
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.step(|state, _| state.import = None);
        Ok(())
    }
}
