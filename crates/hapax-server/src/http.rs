//! HTTP: the ingest listener, the admin listener, and what both share.

pub mod admin;
mod dashboard;
mod debt;
pub mod ingest;
mod json;
pub mod listen;
pub mod problem;
