//! The store's third part: handing everything over to another store, and taking it in.
//!
//! Whoever copies reads pages from one store and writes them into another, of any kind. Neither may be served
//! meanwhile. Pages come in one order in every store, so that two of them can be compared page by page:
//! identities by key, bodies by scope and hash, pauses, jobs, and the audit trail.

mod census;
mod cursor;
mod digest;
mod record;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use census::Census;
pub use cursor::{MigrationCursor, NotACursor};
pub use record::{
    AuditNumbered, ConflictRecord, EventContents, IdentityRecord, InLane, JobRecord, OutcomeRecord, Record,
    WorkRecord,
};

use super::Error;

/// Bytes of payload on one page, about: a page may be longer by one identity.
pub const PAGE_BYTES_MAX: usize = 8 << 20;

/// Handing over and taking in.
#[async_trait]
pub trait StoreMigration: Send + Sync + 'static {
    /// What tells this store from every other: drawn when first asked for, and kept.
    async fn origin(&self) -> Result<Origin, Error>;

    /// How many of everything there are, counted row by row.
    async fn census(&self) -> Result<Census, Error>;

    /// The page after `after`: at most `limit` records and about [`PAGE_BYTES_MAX`] bytes. What runs is handed over
    /// as waiting, due since its event was accepted, its attempt uncounted; a bulk replay that is not over begins its
    /// walk again. Of a store in which nothing changes, every export is the same.
    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error>;

    /// Marks an empty store as an unfinished copy, which no [`Purpose::Serve`] opens, and moves its numbers past the
    /// other store's: every token, place and order that comes later is greater than every one taken in.
    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error>;

    /// Takes records in, each whole or not at all, and notes how far the copy has come in the same write. A record
    /// that is there already is left as it is. Refused where no copy was begun.
    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error>;

    /// Takes the mark away: the copy is whole, and the store may be served.
    async fn finish_import(&self) -> Result<(), Error>;
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To be served, or copied from. An unfinished copy is refused: half of a ledger is worse than none.
    #[default]
    Serve,
    /// To be copied into.
    Import,
}

/// Tells one store from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(pub i64);

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationPage {
    /// The records, in order.
    pub records: Vec<Record>,
    /// Where to go on; none at the end. A page may be empty and still go on.
    pub next: Option<MigrationCursor>,
}

/// What an unfinished copy remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportMark {
    /// Of which store it is a copy.
    pub origin: Origin,
    /// What was in that store when the copy began.
    pub census: Census,
    /// How far it has come.
    pub reached: MigrationCursor,
}

/// What became of `begin_import`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportBegun {
    /// It was empty, and is marked now.
    Started,
    /// It is an unfinished copy already; this is its own mark.
    Unfinished(ImportMark),
    /// It holds something else.
    Occupied,
}
