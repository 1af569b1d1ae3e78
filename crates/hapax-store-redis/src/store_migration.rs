//! The store's third part: handing everything over to another store, and taking it in.
//!
//! Identities come by key: the hashes of the ledger follow each other as keys do, in every shard alike. An identity is
//! written whole, in its own shard; only its places in lanes are in others, and those come first, since whoever stands in
//! a lane without being there is taken out when its turn comes.

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
