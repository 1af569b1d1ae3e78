//! The two tables that any language can use, as each database writes them.
//!
//! `hapax_inbox` lives where the effect lives: a row says that a consumer has applied an event, and
//! it commits together with the effect. `hapax_outbox` takes calls to other systems, written in the
//! same transaction as the business data; Hapax makes them afterwards.
//!
//! Every statement may run again: what is there already stays as it is.

use crate::database::Database;

/// `hapax_inbox` on PostgreSQL 14 and newer.
pub const POSTGRES_INBOX: &str = include_str!("tables/postgres/inbox.sql");
/// `hapax_outbox` on PostgreSQL 14 and newer.
pub const POSTGRES_OUTBOX: &str = include_str!("tables/postgres/outbox.sql");
/// `hapax_inbox` on SQLite 3.31 and newer.
pub const SQLITE_INBOX: &str = include_str!("tables/sqlite/inbox.sql");
/// `hapax_outbox` on SQLite 3.31 and newer.
pub const SQLITE_OUTBOX: &str = include_str!("tables/sqlite/outbox.sql");

/// How long a row of the inbox is kept, unless told otherwise: longer than any ledger remembers.
pub const INBOX_RETENTION: std::time::Duration = std::time::Duration::from_secs(60 * 86_400);

/// Creates both tables where they are not there yet.
///
/// ```
/// # #[cfg(feature = "rusqlite")] {
/// let connection = rusqlite::Connection::open_in_memory()?;
/// hapax::create_tables(&connection)?;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create<D: Database>(database: &D) -> D::Answer<'_, ()> {
    database.create_tables()
}
