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
    /// Claims like `claim`, waiting no longer than a limit; returns a row if the event was not claimed before.
    pub claim_within: Option<&'static str>,
}

/// The claim with a limited wait, in one statement. The values are computed before the insert can wait, so `$7` is the
/// `lock_timeout` while it does; RETURNING is computed once the row is there, and restores the session's own. If no row is
/// inserted, the limit stays until the transaction ends or rolls back to a savepoint.
const POSTGRES_CLAIM_WITHIN: &str = "
    INSERT INTO hapax_inbox (scope, event_id, consumer, generation, body_hash, expires_at)
    VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6::float8 + 0 * length(
        set_config('hapax.lock_timeout', current_setting('lock_timeout'), true)
        || set_config('lock_timeout', $7, true))))
    ON CONFLICT (scope, event_id, consumer, generation) DO NOTHING
    RETURNING set_config('lock_timeout', current_setting('hapax.lock_timeout'), true)";

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
            claim_within: Some(POSTGRES_CLAIM_WITHIN),
        }),
        "sqlite" => Ok(Sql {
            create_inbox: sqlite::CREATE_INBOX,
            create_outbox: sqlite::CREATE_OUTBOX,
            claim: sqlite::CLAIM,
            look_up: sqlite::LOOK_UP,
            extend: sqlite::EXTEND,
            purge: sqlite::PURGE,
            stage: sqlite::STAGE,
            claim_within: None,
        }),
        _ => Err(Error::invalid(format!(
            "`{dialect}` is not a dialect; write `postgres` or `sqlite`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_claims_write_the_same_row() {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let within = squeezed(POSTGRES_CLAIM_WITHIN);
        let (before, after) = within.split_once("::float8 + 0 *").unwrap();
        let (_, after) = after.split_once(", true))").unwrap();
        let (after, _) = after.split_once(" RETURNING").unwrap();
        assert_eq!(format!("{before}{after}"), squeezed(postgres::CLAIM));
    }
}
