//! The two tables, in the dialect of each database. Any language can use them.
//!
//! `hapax_inbox` lives in the database of the effect: a row records that a consumer has applied an event, and commits
//! together with the effect. `hapax_outbox` holds calls to other systems, written in the same transaction as the
//! business data; Hapax makes them afterwards.
//!
//! Every statement is idempotent: existing tables and indexes stay as they are.

use crate::database::Database;

/// `hapax_inbox` on PostgreSQL 14 and newer.
pub const POSTGRES_INBOX: &str = include_str!("tables/postgres/inbox.sql");
/// `hapax_outbox` on PostgreSQL 14 and newer.
pub const POSTGRES_OUTBOX: &str = include_str!("tables/postgres/outbox.sql");
/// `hapax_inbox` on SQLite 3.31 and newer.
pub const SQLITE_INBOX: &str = include_str!("tables/sqlite/inbox.sql");
/// `hapax_outbox` on SQLite 3.31 and newer.
pub const SQLITE_OUTBOX: &str = include_str!("tables/sqlite/outbox.sql");

/// How long a row of the inbox is kept by default: longer than any ledger remembers.
pub const INBOX_RETENTION: std::time::Duration = std::time::Duration::from_secs(60 * 86_400);

/// Creates both tables unless they exist.
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
