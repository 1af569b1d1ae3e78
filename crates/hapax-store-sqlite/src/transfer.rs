//! The store's third part: handing everything over to another store, and taking it in.

mod census;
mod identity;
mod mark;
mod pages;
mod take_in;

use async_trait::async_trait;
use hapax_core::Transfer;
use hapax_core::store::{
    Census, Error, ImportBegun, ImportMark, Origin, Record, TransferCursor, TransferPage,
};

use crate::SqliteStore;

pub(crate) use mark::is_unfinished_copy;

#[async_trait]
impl Transfer for SqliteStore {
    async fn origin(&self) -> Result<Origin, Error> {
        self.write((), 1, 0, |desk, ()| mark::origin(desk)).await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.read(|desk| census::census(&desk.connection)).await
    }

    async fn export(&self, after: &TransferCursor, limit: u32) -> Result<TransferPage, Error> {
        let after = after.clone();
        self.read(move |desk| pages::page(desk, &after, limit as usize))
            .await
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        self.write(mark.clone(), 1, 0, mark::begin).await
    }

    async fn import(&self, records: Vec<Record>, reached: &TransferCursor) -> Result<(), Error> {
        let items = records.len();
        let bytes = records.iter().map(Record::payload_bytes).sum();
        self.write((records, reached.clone()), items, bytes, take_in::take_in)
            .await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.write((), 1, 0, |desk, ()| mark::finish(desk)).await
    }
}
