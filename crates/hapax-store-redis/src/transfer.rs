//! The store's third part.
use crate::RedisStore;
use async_trait::async_trait;
use hapax_core::store::*;

#[async_trait]
impl Transfer for RedisStore {
    async fn origin(&self) -> Result<Origin, Error> {
        Err(Error::Overloaded)
    }

    async fn census(&self) -> Result<Census, Error> {
        Err(Error::Overloaded)
    }

    async fn export(&self, _after: &TransferCursor, _limit: u32) -> Result<TransferPage, Error> {
        Err(Error::Overloaded)
    }

    async fn begin_import(&self, _mark: &ImportMark) -> Result<ImportBegun, Error> {
        Err(Error::Overloaded)
    }

    async fn import(&self, _records: Vec<Record>, _reached: &TransferCursor) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn finish_import(&self) -> Result<(), Error> {
        Err(Error::Overloaded)
    }
}
