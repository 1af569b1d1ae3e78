//! Store migration: exporting everything to another store, and importing it.

mod census;
mod identity;
mod import;
mod mark;
mod pages;

use async_trait::async_trait;
use hapax_core::StoreMigration;
use hapax_core::store::{
    Census, Error, ImportBegun, ImportMark, MigrationCursor, MigrationPage, Origin, Record,
};

use crate::SqliteStore;

#[async_trait]
impl StoreMigration for SqliteStore {
    async fn origin(&self) -> Result<Origin, Error> {
        self.write((), 1, 0, |desk, ()| mark::origin(desk)).await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.read(|desk| census::census(&desk.connection)).await
    }

    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error> {
        let after = after.clone();
        self.read(move |desk| pages::page(desk, &after, limit as usize))
            .await
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        self.write(mark.clone(), 1, 0, mark::begin).await
    }

    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error> {
        let items = records.len();
        let bytes = records.iter().map(Record::payload_bytes).sum();
        self.write((records, reached.clone()), items, bytes, import::import)
            .await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.write((), 1, 0, |desk, ()| mark::finish(desk)).await
    }
}
