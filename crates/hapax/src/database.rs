//! The traits that the drivers share, so that `inbox::once`, `outbox::stage` and `create_tables` have the same name for
//! each of them. The traits are sealed; a driver's feature provides the implementations.

use crate::claim::{Claim, Mark};
use crate::error::Invalid;
use crate::staged::Staged;

/// An open transaction that can hold a claim and staged calls: a `sqlx::Transaction<'_, Postgres>`, a
/// `tokio_postgres::Transaction`, a `rusqlite::Transaction` or `Savepoint`, or the [`crate::Handling`] that a handler
/// receives.
pub trait Transaction: sealed::Sealed {
    /// The return type: a future for an asynchronous driver, the value itself for a blocking one. Either yields a
    /// `Result<T, hapax::Error>`.
    type Answer<'t, T: Send + 't>
    where
        Self: 't;

    #[doc(hidden)]
    fn claim(&mut self, mark: Mark) -> Self::Answer<'_, Claim>;

    #[doc(hidden)]
    fn once(&mut self, mark: Result<Mark, Invalid>) -> Self::Answer<'_, bool>;

    #[doc(hidden)]
    fn stage(&mut self, row: Staged) -> Self::Answer<'_, ()>;
}

/// A connection or pool outside a transaction: `sqlx::PgPool`, `tokio_postgres::Client`, `rusqlite::Connection`.
pub trait Database: sealed::Sealed {
    /// The return type; see [`Transaction::Answer`].
    type Answer<'d, T: Send + 'd>
    where
        Self: 'd;

    #[doc(hidden)]
    fn create_tables(&self) -> Self::Answer<'_, ()>;

    #[doc(hidden)]
    fn purge(&self, rows_max: u32) -> Self::Answer<'_, u64>;
}

pub(crate) mod sealed {
    /// Only this crate's drivers can be used: the guarantees depend on their behaviour.
    pub trait Sealed {}
}
