//! Store migration: exporting everything to another store, and importing it.
//!
//! Rows travel as JSON. One type per table (`tables`) is both read and written, so that both directions have the same
//! columns.

mod census;
mod identities;
mod import;
mod mark;
mod pages;
mod tables;
mod to_rows;

use async_trait::async_trait;
use futures_util::FutureExt;
use hapax_core::StoreMigration;
use hapax_core::store::{
    Census, Error, ImportBegun, ImportMark, MigrationCursor, MigrationPage, Origin, Record,
};

use crate::PostgresStore;

#[async_trait]
impl StoreMigration for PostgresStore {
    async fn origin(&self) -> Result<Origin, Error> {
        self.keep_up((), |session, ()| mark::origin(session).boxed())
            .await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.search((), |session, ()| census::census(session).boxed())
            .await
    }

    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error> {
        self.search((after.clone(), limit), |session, (after, limit)| {
            pages::page(session, after, i64::from(*limit)).boxed()
        })
        .await
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        self.keep_up(mark.clone(), |session, mark| mark::begin(session, mark).boxed())
            .await
    }

    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error> {
        self.keep_up((records, reached.clone()), |session, (records, reached)| {
            import::import(session, records, reached).boxed()
        })
        .await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.keep_up((), |session, ()| mark::finish(session).boxed())
            .await
    }
}
