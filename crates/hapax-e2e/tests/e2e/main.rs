//! The product from the outside: the real binary, real sockets, real files, real signals.
//!
//! One module per topic. A test's name is its claim; every event is delivered at least twice.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot go wrong in a test may panic; only functions marked as tests are excused by themselves"
)]

mod abuse;
mod alerts;
mod answers;
mod bank;
mod bodies;
mod cli;
mod configuration;
mod crash;
mod delivery;
mod duplicates;
mod erasure;
mod examples;
mod footprint;
mod guides;
mod kit;
mod moving;
mod outbox;
mod prometheus;
mod redaction;
mod redis;
mod replicas;
mod shutdown;
mod sign_in;
mod store_trouble;
mod tls;
