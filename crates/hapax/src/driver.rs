//! The drivers: how each of them claims events, stages calls and creates the tables.

#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
pub(crate) mod postgres;
#[cfg(feature = "rusqlite")]
pub(crate) mod rusqlite;
#[cfg(feature = "sqlx-postgres")]
mod sqlx_postgres;
#[cfg(feature = "tokio-postgres")]
pub(crate) mod tokio_postgres;

use std::error::Error as StdError;
use std::ops::Deref;

#[cfg(feature = "rusqlite")]
pub use self::rusqlite::Rusqlite;
#[cfg(feature = "sqlx-postgres")]
pub use self::sqlx_postgres::Sqlx;
#[cfg(feature = "tokio-postgres")]
pub use self::tokio_postgres::TokioPostgres;

use crate::database::{Transaction, sealed};
use crate::error::{DatabaseError, Trouble};

/// A driver as a type parameter: a helper function of a handler takes a `&mut Handling<'_, Sqlx>`.
pub trait Driver: sealed::Sealed {
    /// The type on which a handler runs its statements. It has exactly one lifetime and no other parameter: handlers
    /// are generic over that lifetime, which allows the whole run to be `Send`.
    type Handle<'t>: Transaction + Deref;
}

/// The trouble reported by the first driver error in the source chain of `error`; `None` if there is none.
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
    error.downcast_ref::<DatabaseError>().map(|error| error.trouble)
}
