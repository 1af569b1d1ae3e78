//! The embedded store of Hapax: one SQLite file, one writer with group commit, readers alongside it.
//!
//! ```text
//! accept, lease, finish … ──► bounded queue ──► writer: every waiting call, one transaction, one fsync
//! get, list, counts …     ──► bounded queue ──► readers, each with its own connection
//!                                               checkpointer: copies the log into the file in parallel
//! ```
//!
//! Every step is one file: its SQL (but for the statements in `hot`), its rules, nothing else. [`SqliteStore`] only
//! passes inputs to the threads and answers back.

mod accept;
mod alive;
mod audit;
mod bodies;
mod checkpoint;
mod conflicts;
mod connection;
mod counts;
mod dead;
mod desk;
mod duplicates;
mod erase;
mod extend;
mod failure;
mod finish;
mod forget;
mod get;
mod hasten;
mod hot;
mod import_mark;
mod indexed;
mod jobs;
mod lanes;
mod lease;
mod ledger;
mod list;
mod lock;
mod look_up;
mod moment;
mod names;
mod noted;
mod open;
mod open_error;
mod operations;
mod options;
mod outcome;
mod pauses;
mod private;
mod probe;
mod purge;
mod purge_progress;
mod queue;
mod reader;
mod recent;
mod replay;
mod rescue;
mod reseal;
mod rows;
mod schema;
mod store;
mod store_migration;
mod tallies;
mod tokens;
mod traffic;
mod values;
mod work_row;
mod writer;

pub use open_error::OpenError;
pub use options::Options;
pub use schema::SCHEMA_VERSION;
pub use store::SqliteStore;
