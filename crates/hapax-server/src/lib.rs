//! The one binary of Hapax, as a library so that its tests can reach every part.
//!
//! `cli` has one file for each verb; `config` reads `hapax.toml`; `client` speaks to a running service; `query` is the language that says which events; `load` measures
//! one and proves it; the rest is what `serve` runs.

pub mod alerts;
pub mod cli;
pub mod client;
pub mod config;
pub mod destination;
mod earlier_ids;
pub mod exit;
#[cfg(feature = "fail-points")]
pub mod fail_points;
mod handover;
pub mod http;
mod load;
mod outbox;
pub mod output;
pub mod query;
mod redact;
pub mod renamed;
pub mod serve;
pub mod telemetry;
