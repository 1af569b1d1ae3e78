//! Tests beyond the laws: several stores on one database, servers that die, and the start.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

#[path = "it/beginning.rs"]
mod beginning;
#[path = "it/bench.rs"]
mod bench;
#[path = "it/citus.rs"]
mod citus;
#[path = "it/disaster.rs"]
mod disaster;
#[path = "it/duplicates.rs"]
mod duplicates;
#[path = "it/encrypted.rs"]
mod encrypted;
#[path = "it/failover.rs"]
mod failover;
#[path = "it/limits.rs"]
mod limits;
#[path = "it/looking.rs"]
mod looking;
#[path = "it/opening.rs"]
mod opening;
#[path = "it/planning.rs"]
mod planning;
#[path = "it/poison.rs"]
mod poison;
#[path = "it/pooled.rs"]
mod pooled;
#[path = "it/proxy.rs"]
mod proxy;
#[path = "it/purging.rs"]
mod purging;
#[path = "it/refusals.rs"]
mod refusals;
#[path = "it/replaying.rs"]
mod replaying;
#[path = "it/replicas.rs"]
mod replicas;
#[path = "it/sealed.rs"]
mod sealed;
#[path = "it/store_migration.rs"]
mod store_migration;
#[path = "it/upgrading.rs"]
mod upgrading;
#[path = "it/vacuuming.rs"]
mod vacuuming;
