//! The attack suite: what a stranger, a reader or a neighbour on the machine tries, against the real binary.
//!
//! A target of its own beside `main.rs`, since its figures need an optimised binary: `./test attacks` builds one and names
//! it in `HAPAX_TEST_BINARY`. Each attack succeeded once, and has a line in SECURITY.md.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot go wrong in a test may panic; only functions marked as tests are excused by themselves"
)]

#[allow(dead_code, unused_imports, reason = "the end-to-end tests use the rest of it")]
mod harness;

mod attacks;
