//! The laws, one function for each promise, by topic. Each panics if its promise is broken.
//!
//! A law that is not listed in the registry fails `tests/registry.rs`.

pub mod audit_chain;
pub mod bindings;
pub mod claims;
pub mod counting;
pub mod dead_groups;
pub mod durability;
pub mod erasing;
pub mod fencing;
pub mod finishing;
pub mod forgetting;
pub mod hastening;
pub mod identities;
pub mod indexes;
pub mod jobs;
pub mod lane_ends;
pub mod lane_replays;
pub mod lanes;
pub mod leasing;
pub mod looking;
pub mod operating;
pub mod owners;
pub mod payload;
pub mod purging;
pub mod purging_ledger;
pub mod record_conflicts;
pub mod replay;
pub mod replay_reach;
pub mod requests;
pub mod rescue;
pub mod resealing;
pub mod same_body;
pub mod searching;
pub mod store_migration;
mod store_migration_reads;
pub mod tallies;
pub mod traffic;
pub mod values;
