//! The store of Hapax for very high volume: Redis, or Redis Cluster.
//!
//! ```text
//! accept, lease, finish … ──► its own task ──► the shard's server ──► one atomic script
//! ```
//!
//! Everything about an identity is in one shard, and a step on a shard is one script. Hot steps are decided in Lua
//! (`scripts/`); rare ones are read, decided here, and written if nothing has changed (`snapshot.rs`). Only lanes span
//! several shards, in steps that may be repeated (`lanes.rs`).
//!
//! **What it cannot promise.** A replica that takes over may lack its master's latest writes. After a failover an event
//! may be delivered again, and an acknowledged event may be lost, unless its source waits for replicas. A handler
//! cannot write in the same transaction. `docs/GUARANTEES.md` explains this to users.

mod accept;
mod alive;
mod audit;
mod bodies;
mod condition;
mod conflicts;
mod counts;
mod dead;
mod duplicates;
mod erase;
mod event;
mod extend;
mod failure;
mod finish;
mod forget;
mod get;
mod hasten;
mod identity;
mod import_mark;
mod indexed;
mod jobs;
mod json;
mod lanes;
mod lease;
mod ledger;
mod link;
mod list;
mod look_up;
mod open;
mod operations;
mod options;
mod packed;
mod pauses;
mod probe;
mod purge;
mod replay;
mod reply;
mod rescue;
mod reseal;
mod script;
mod shards;
mod snapshot;
mod spread;
mod store;
mod store_migration;
mod traffic;
mod url;
mod values;
mod work;

pub use condition::{Condition, Flushed};
pub use open::{OpenError, SCHEMA_VERSION, Warning};
pub use options::Options;
pub use store::RedisStore;
pub use url::{UrlError, check as check_url};

/// The longest duration that scripts can add to a time without losing microseconds: about 140 years.
const MICROS_MAX: u64 = 1 << 52;

/// A duration in the form used by scripts.
fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros())
        .unwrap_or(MICROS_MAX)
        .min(MICROS_MAX)
}
