//! Store migration: exporting everything to another store, and importing it.
//!
//! Identities are ordered by key: the ledger hashes sort as keys do, in every shard alike. An identity is written
//! completely, in its own shard. Only its positions in lanes are in other shards. They are written first, since a lane
//! member whose event does not exist is removed when its turn comes.

mod bodies;
mod census;
mod export;
mod identities;
mod import;
mod mark;
mod numbers;
mod pages;
mod scopes;
mod to_changes;
mod walk;

use async_trait::async_trait;
use hapax_core::StoreMigration;
use hapax_core::store::{
    Census, Error, ImportBegun, ImportMark, MigrationCursor, MigrationPage, Origin, Record,
};

use crate::RedisStore;

#[async_trait]
impl StoreMigration for RedisStore {
    async fn origin(&self) -> Result<Origin, Error> {
        self.run_aside(|link, _| async move { mark::origin(&link).await })
            .await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.run_aside(|link, _| async move { census::census(&link).await })
            .await
    }

    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error> {
        let after = after.clone();
        self.run_aside(|link, _| async move { pages::page(&link, &after, limit as usize).await })
            .await
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        let mark = mark.clone();
        self.run_aside(|link, _| async move { mark::begin(&link, &mark).await })
            .await
    }

    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error> {
        let reached = reached.clone();
        self.run_aside(|link, _| async move { import::import(&link, records, &reached).await })
            .await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.run_aside(|link, _| async move { mark::finish(&link).await })
            .await
    }
}
