//! The embedded store of Hapax: one SQLite file, one writer with group commit, readers alongside it.
//!
//! ```text
//! accept, lease, finish … ──► bounded queue ──► writer: every waiting call, one transaction, one fsync
//! get, list, counts …     ──► bounded queue ──► readers, each with its own connection
//!                                               checkpointer: copies the log into the file in parallel
//! ```
//!
//! Every step is one file: its SQL, its rules, nothing else. [`SqliteStore`] only passes inputs to the threads and
//! answers back.

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
mod indexed;
mod jobs;
mod lanes;
mod lease;
mod list;
mod lock;
mod look_up;
mod moment;
mod names;
mod noted;
mod open;
mod operations;
mod options;
mod outcome;
mod pauses;
mod private;
mod probe;
mod purge;
mod queue;
mod reader;
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
mod writer;

pub use open::OpenError;
pub use options::Options;
pub use schema::SCHEMA_VERSION;
pub use store::SqliteStore;
