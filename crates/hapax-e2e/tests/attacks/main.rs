//! The attack suite: what a stranger, a reader or another user of the machine might try, against the real binary.
//!
//! A separate test target, since its figures need an optimised binary: `./test attacks` builds one and names it in
//! `HAPAX_TEST_BINARY`. Each attack succeeded once, and has a line in SECURITY.md; all but [`fail_points`], which no released
//! binary had.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot go wrong in a test may panic; only functions marked as tests are excused by themselves"
)]

mod actors;
mod audit;
mod border;
mod commands;
mod copied_store;
mod fail_points;
mod files;
mod forged_address;
mod http2;
mod keys;
mod outbox_targets;
mod postgres_tls;
mod report;
mod same_body;
mod sign_in;
mod stored_secrets;
