//! The drivers: how each of them claims, stages and creates the tables.

#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
pub(crate) mod postgres;
#[cfg(feature = "rusqlite")]
pub(crate) mod rusqlite;
#[cfg(feature = "sqlx-postgres")]
mod sqlx_postgres;
#[cfg(feature = "tokio-postgres")]
mod tokio_postgres;

use std::error::Error as StdError;
use std::ops::Deref;

#[cfg(feature = "rusqlite")]
pub use self::rusqlite::Rusqlite;
#[cfg(feature = "sqlx-postgres")]
pub use self::sqlx_postgres::Sqlx;
#[cfg(feature = "tokio-postgres")]
pub use self::tokio_postgres::TokioPostgres;

use crate::database::{Transaction, sealed};
use crate::error::Trouble;

/// A driver, as a name for types: a helper of a handler takes a `&mut Handling<'_, Sqlx>`.
pub trait Driver: sealed::Sealed {
    /// What a handler runs its statements on. Of one lifetime and nothing else: a handler is general about
    /// it, which is what lets the whole run be `Send`.
    type Handle<'t>: Transaction + Deref;
}

/// The trouble that a driver's error, somewhere below `error`, reports; `None` if no driver's is there.
pub(crate) fn trouble_of(error: &(dyn StdError + 'static)) -> Option<Trouble> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(trouble) = known(error) {
            return Some(trouble);
        }
        next = error.source();
    }
    None
}

fn known(error: &(dyn StdError + 'static)) -> Option<Trouble> {
    #[cfg(feature = "sqlx-postgres")]
    if let Some(error) = error.downcast_ref::<sqlx::Error>() {
        return Some(sqlx_postgres::trouble(error));
    }
    #[cfg(feature = "tokio-postgres")]
    if let Some(error) = error.downcast_ref::<::tokio_postgres::Error>() {
        return Some(tokio_postgres::trouble(error));
    }
    #[cfg(feature = "rusqlite")]
    if let Some(error) = error.downcast_ref::<::rusqlite::Error>() {
        return Some(rusqlite::trouble(error));
    }
    error
        .downcast_ref::<crate::DatabaseError>()
        .map(|error| error.trouble)
}
