//! The store's third part: handing everything over to another store, and taking it in.
//!
//! Rows travel as JSON: one type for each table (`tables`) is what is read and what is written, so that both
//! directions have the same columns.

mod census;
mod identities;
mod mark;
mod pages;
mod tables;
mod take_in;
mod to_rows;

use async_trait::async_trait;
use futures_util::FutureExt;
use hapax_core::Transfer;
use hapax_core::store::{
    Census, Error, ImportBegun, ImportMark, Origin, Record, TransferCursor, TransferPage,
};

use crate::PostgresStore;

pub(crate) use mark::is_unfinished_copy;

#[async_trait]
impl Transfer for PostgresStore {
    async fn origin(&self) -> Result<Origin, Error> {
        self.keep_up((), |session, ()| mark::origin(session).boxed())
            .await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.search((), |session, ()| census::census(session).boxed())
            .await
    }

    async fn export(&self, after: &TransferCursor, limit: u32) -> Result<TransferPage, Error> {
        self.search((after.clone(), limit), |session, (after, limit)| {
            pages::page(session, after, i64::from(*limit)).boxed()
        })
        .await
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        self.keep_up(mark.clone(), |session, mark| mark::begin(session, mark).boxed())
            .await
    }

    async fn import(&self, records: Vec<Record>, reached: &TransferCursor) -> Result<(), Error> {
        self.keep_up((records, reached.clone()), |session, (records, reached)| {
            take_in::take_in(session, records, reached).boxed()
        })
        .await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.keep_up((), |session, ()| mark::finish(session).boxed())
            .await
    }
}
