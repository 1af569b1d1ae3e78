//! Promises that only this store makes: about its file, its lock, its log and its limits.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

#[path = "it/bench.rs"]
mod bench;
#[path = "it/clock.rs"]
mod clock;
#[path = "it/fault.rs"]
mod fault;
#[path = "it/full.rs"]
mod full;
#[path = "it/ledger.rs"]
mod ledger;
#[path = "it/limits.rs"]
mod limits;
#[path = "it/log.rs"]
mod log;
#[path = "it/opening.rs"]
mod opening;
#[path = "it/sealed.rs"]
mod sealed;
#[path = "it/store_migration.rs"]
mod store_migration;
#[path = "it/upgrading.rs"]
mod upgrading;
