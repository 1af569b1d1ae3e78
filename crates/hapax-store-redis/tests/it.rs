//! Tests beyond the laws: several stores at once, the remains of a dying process, and servers that lose data or move.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

#[path = "it/bench.rs"]
mod bench;
#[path = "it/conflicts.rs"]
mod conflicts;
#[path = "it/failover.rs"]
mod failover;
#[path = "it/lanes.rs"]
mod lanes;
#[path = "it/listing.rs"]
mod listing;
#[path = "it/losses.rs"]
mod losses;
#[path = "it/moving.rs"]
mod moving;
#[path = "it/pausing.rs"]
mod pausing;
#[path = "it/purging.rs"]
mod purging;
#[path = "it/replicas.rs"]
mod replicas;
#[path = "it/reserved.rs"]
mod reserved;
#[path = "it/sealed.rs"]
mod sealed;
#[path = "it/store_migration.rs"]
mod store_migration;
