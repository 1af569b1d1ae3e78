//! The store of Hapax for many replicas: one PostgreSQL database, any number of processes.
//!
//! ```text
//! accept, lease, finish … ──► its own task ──► a connection of the pool ──► one transaction, READ COMMITTED
//! ```
//!
//! Every step is one file: its SQL, its rules, nothing else. [`PostgresStore`] only passes inputs to tasks and answers
//! back. A step runs in a task, never in the caller's future: dropping that future leaves no transaction half done.
//!
//! Locks are taken in one order everywhere: an event's row, ledger rows by key, lanes by name, delivery rows. Should a
//! deadlock occur nevertheless, the step is run again.
//!
//! No step keeps anything in the session, so that pgbouncer in transaction mode may stand in between. Prepared
//! statements are the one exception, and they are no longer used once such a pooler is detected.

mod accept;
mod alive;
mod audit;
mod batch;
mod bind;
mod bodies;
mod conflicts;
mod connect;
mod counts;
mod dead;
mod distribution;
mod duplicates;
mod erase;
mod extend;
mod failure;
mod finish;
mod forget;
mod get;
mod hasten;
mod import_mark;
mod indexed;
mod jobs;
mod lanes;
mod lease;
mod list;
mod look_up;
mod noted;
mod open;
mod open_error;
mod operations;
mod options;
mod outcome;
mod parts;
mod pauses;
mod pool;
mod probe;
mod purge;
mod replay;
mod rescue;
mod reseal;
mod rows;
mod schema;
mod session;
mod statement;
mod step;
mod store;
mod store_migration;
mod tallies;
mod template;
mod tls;
mod traffic;
mod url;
mod vacuum;
mod values;
mod workers;

pub use connect::{ConnectError, Connected, Connector};
pub use distribution::{Distribution, Node, NotSpread};
pub use open_error::OpenError;
pub use options::{Options, Preparing, Spread};
pub use schema::SCHEMA_VERSION;
pub use store::PostgresStore;
