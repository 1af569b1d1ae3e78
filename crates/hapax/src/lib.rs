//! Makes every webhook take effect exactly once, inside your own service and your own transaction.
//!
//! A provider delivers an event at least once: after timeouts, lost responses and retries it arrives again, often at
//! the same moment. This crate records each applied event in a table `hapax_inbox`, **in the same database and the same
//! transaction as the effect**. Both commit, or neither does, so a second delivery finds the record and does nothing.
//!
//! | you have | use |
//! |---|---|
//! | an open transaction | [`inbox::once`]: is this the first time? |
//! | a pool or a connection | `Inbox::run` (or `Inbox::run_blocking` on SQLite): claim, run, commit |
//! | a request, in any framework | `webhook::Source`: the verified events, and the response |
//! | an axum route | the extractor `webhook::Webhook`, or the layer `webhook::InboxLayer` for all of it |
//! | a call to another system | [`outbox::stage`]: written with the effect, made after the commit |
//!
//! # Features
//! `sqlx-postgres`, `tokio-postgres` and `rusqlite` each enable the driver of that name. `verify` adds `webhook::Source`,
//! which verifies requests in any framework. `axum`, enabled by default, adds the extractor and the layer. The crate
//! needs Rust 1.89; `sqlx-postgres` needs Rust 1.94, as sqlx 0.9 does.

#![warn(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(any(feature = "sqlx-postgres", feature = "tokio-postgres", feature = "rusqlite")),
    allow(dead_code, reason = "without a driver nothing is claimed or staged")
)]

pub mod answer;
mod call;
mod claim;
pub mod database;
pub mod driver;
mod error;
mod event;
pub mod inbox;
pub mod limits;
pub mod outbox;
mod staged;
#[doc(hidden)]
pub mod statements;
pub mod tables;
#[cfg(feature = "verify")]
pub mod webhook;

pub use error::{DatabaseError, Error, Invalid, InvalidProblem, Trouble};
pub use event::{Event, Transmission};
pub use inbox::{Claim, Handling, Inbox, Outcome, RunError};
pub use tables::create as create_tables;
