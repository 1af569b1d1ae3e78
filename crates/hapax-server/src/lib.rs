//! The one binary of Hapax, as a library so that its tests can reach every part.
//!
//! `cli` has one file for each verb; `config` reads `hapax.toml`; the rest is what `serve` runs.

pub mod cli;
pub mod config;
pub mod exit;
pub mod output;
