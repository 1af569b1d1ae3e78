//! The store's third part: handing everything over to another store, and taking it in.
//!
//! Identities come by key: the hashes of the ledger follow each other as keys do, in every shard alike. An identity is
//! written whole, in its own shard; only its places in lanes are in others, and those come first, since whoever stands in
//! a lane without being there is taken out when its turn comes.

mod bodies;
mod census;
mod hand_over;
mod identities;
mod mark;
mod numbers;
mod pages;
mod scopes;
mod take_in;
mod to_changes;
mod walk;

use async_trait::async_trait;
use hapax_core::Transfer;
use hapax_core::store::{
    Census, Error, ImportBegun, ImportMark, Origin, Record, TransferCursor, TransferPage,
};

use crate::RedisStore;

#[async_trait]
impl Transfer for RedisStore {
    async fn origin(&self) -> Result<Origin, Error> {
        self.run_aside(|link, _| async move { mark::origin(&link).await })
            .await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.run_aside(|link, _| async move { census::census(&link).await })
            .await
    }

    async fn export(&self, after: &TransferCursor, limit: u32) -> Result<TransferPage, Error> {
        let after = after.clone();
        self.run_aside(|link, _| async move { pages::page(&link, &after, limit as usize).await })
            .await
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        let mark = mark.clone();
        self.run_aside(|link, _| async move { mark::begin(&link, &mark).await })
            .await
    }

    async fn import(&self, records: Vec<Record>, reached: &TransferCursor) -> Result<(), Error> {
        let reached = reached.clone();
        self.run_aside(|link, _| async move { take_in::take_in(&link, records, &reached).await })
            .await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.run_aside(|link, _| async move { mark::finish(&link).await })
            .await
    }
}
