//! The dashboard in a real browser: Debian's Chromium, driven over WebDriver, in front of the real binary.
//!
//! A separate test target, since it needs programs that the other tests do not. Every event is delivered twice, as
//! everywhere.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot go wrong in a test may panic; only functions marked as tests are excused by themselves"
)]

mod accessible;
mod book;
mod chromium;
mod doors;
mod journey;
mod keyboard;
mod outbox;
mod pictures;
mod plain;
mod safe;
mod sign_in;
mod site;
mod tail;
