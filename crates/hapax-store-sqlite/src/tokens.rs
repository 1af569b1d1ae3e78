//! The store-wide sequence of tokens. It counts in memory and reserves blocks in the file, so that it never goes back,
//! even after a crash: the next start begins at the end of the last block.

use rusqlite::Connection;

use crate::failure::Failure;

/// Tokens reserved at a time: one small write per million leases.
const BLOCK: i64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Tokens {
    next: i64,
    /// Tokens below are reserved; 0 after a rollback, which may have undone the reservation.
    reserved: i64,
}

impl Tokens {
    /// Begins at or after the last number of every earlier process.
    pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let next =
            connection.query_row("SELECT value FROM meta WHERE key = 'token_reserved'", [], |row| {
                row.get(0)
            })?;
        Ok(Self { next, reserved: 0 })
    }

    /// A number that was never issued before.
    pub(crate) fn take(&mut self, connection: &Connection) -> Result<i64, Failure> {
        if self.next >= self.reserved {
            let reserved = self.next + BLOCK;
            connection
                .prepare_cached("UPDATE meta SET value = ?1 WHERE key = 'token_reserved'")?
                .execute([reserved])?;
            self.reserved = reserved;
        }
        let token = self.next;
        self.next += 1;
        Ok(token)
    }

    /// Skips all numbers below `below`.
    pub(crate) fn pass(&mut self, connection: &Connection, below: u64) -> Result<(), Failure> {
        let below = i64::try_from(below).map_err(|_| {
            Failure::Rejected(
                "the numbers of the other store are greater than this store can hold".to_owned(),
            )
        })?;
        self.next = self.next.max(below);
        self.reserved = self.next;
        connection
            .prepare_cached("UPDATE meta SET value = ?1 WHERE key = 'token_reserved'")?
            .execute([self.next])?;
        Ok(())
    }

    /// The reservation may have been undone; numbers already issued are not issued again.
    pub(crate) fn rolled_back(&mut self) {
        self.reserved = 0;
    }
}
