//! The fault suite: real processes with named fail points (feature `fail-points`), broken in every way we can think of,
//! and a checker outside of them that reads what was answered, what took effect and what was stored.
//!
//! A target of its own beside `main.rs`, since its binary is another one. `./test faults` runs it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot go wrong in a test may panic; only functions marked as tests are excused by themselves"
)]

#[allow(dead_code, unused_imports, reason = "the end-to-end tests use the rest of it")]
mod harness;

mod faults;
