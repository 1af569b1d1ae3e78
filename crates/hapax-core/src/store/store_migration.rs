//! The third part of the store's contract: exporting everything to another store, and importing it.
//!
//! A migration reads pages from one store and writes them to another, of any kind. Neither store may be served while it
//! runs. Pages come in the same order from every store, so that two stores can be compared page by page: identities by
//! key, bodies by scope and hash, pauses, replay jobs, and the audit trail.

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

/// The approximate maximum number of payload bytes on one page: a page may exceed it by one identity.
pub const PAGE_BYTES_MAX: usize = 8 << 20;

/// Export and import.
#[async_trait]
pub trait StoreMigration: Send + Sync + 'static {
    /// The id that distinguishes this store from every other: drawn on the first call, and kept.
    async fn origin(&self) -> Result<Origin, Error>;

    /// Counts of everything in the store, counted row by row.
    async fn census(&self) -> Result<Census, Error>;

    /// The page after `after`: at most `limit` records and about [`PAGE_BYTES_MAX`] bytes. Running deliveries are
    /// exported as waiting, due since their event was accepted, with the attempt uncounted; a running replay job starts
    /// its walk again. As long as nothing changes in the store, every export is the same.
    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error>;

    /// Marks an empty store as the target of an unfinished migration, which cannot be opened with [`Purpose::Serve`],
    /// and advances its sequences past the source's: every later token, position and order is greater than every
    /// imported one.
    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error>;

    /// Imports records, each completely or not at all, and records the progress in the same write. A record that exists
    /// already is left unchanged. Refused if no import was begun.
    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error>;

    /// Removes the mark: the migration is complete, and the store may be served.
    async fn finish_import(&self) -> Result<(), Error>;
}

/// The purpose for which a store is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To be served or exported. A store with an unfinished migration is refused: half a ledger is worse than none.
    #[default]
    Serve,
    /// To be imported into.
    Import,
}

/// Distinguishes one store from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(pub i64);

/// One page of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationPage {
    /// The records, in order.
    pub records: Vec<Record>,
    /// Where the next page starts; `None` at the end. A page may be empty without being the last.
    pub next: Option<MigrationCursor>,
}

/// What the target of an unfinished migration remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportMark {
    /// The store that is being migrated.
    pub origin: Origin,
    /// The contents of that store when the migration began.
    pub census: Census,
    /// How far the migration has progressed.
    pub reached: MigrationCursor,
}

/// The result of `begin_import`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportBegun {
    /// The store was empty and is now marked.
    Started,
    /// The store is already the target of an unfinished migration, with this mark.
    Unfinished(ImportMark),
    /// The store contains other data.
    Occupied,
}
