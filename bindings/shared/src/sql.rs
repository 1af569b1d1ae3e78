//! The statements of the Rust drivers, for the drivers of other languages.

use hapax::statements::{postgres, sqlite};

use crate::Error;

/// The statements in one dialect.
#[derive(Clone, Copy, Debug)]
pub struct Sql {
    /// Creates `hapax_inbox` unless it exists.
    pub create_inbox: &'static str,
    /// Creates `hapax_outbox` unless it exists.
    pub create_outbox: &'static str,
    /// Claims an event; affects no row if it was claimed before.
    pub claim: &'static str,
    /// Reads the row that prevented a claim.
    pub look_up: &'static str,
    /// Extends the retention of a row.
    pub extend: &'static str,
    /// Deletes expired rows.
    pub purge: &'static str,
    /// Writes a call to the outbox.
    pub stage: &'static str,
    /// Sets `lock_timeout` for the transaction, and returns the value before.
    pub swap_lock_timeout: Option<&'static str>,
}

/// The statements in a dialect: `postgres` or `sqlite`.
pub fn sql(dialect: &str) -> Result<Sql, Error> {
    match dialect {
        "postgres" => Ok(Sql {
            create_inbox: postgres::CREATE_INBOX,
            create_outbox: postgres::CREATE_OUTBOX,
            claim: postgres::CLAIM,
            look_up: postgres::LOOK_UP,
            extend: postgres::EXTEND,
            purge: postgres::PURGE,
            stage: postgres::STAGE,
            swap_lock_timeout: Some(postgres::SWAP_LOCK_TIMEOUT),
        }),
        "sqlite" => Ok(Sql {
            create_inbox: sqlite::CREATE_INBOX,
            create_outbox: sqlite::CREATE_OUTBOX,
            claim: sqlite::CLAIM,
            look_up: sqlite::LOOK_UP,
            extend: sqlite::EXTEND,
            purge: sqlite::PURGE,
            stage: sqlite::STAGE,
            swap_lock_timeout: None,
        }),
        _ => Err(Error::invalid(format!(
            "`{dialect}` is not a dialect; write `postgres` or `sqlite`"
        ))),
    }
}
