//! The simulator: the very engine that production runs, over the model of the store, under a seeded scheduler and a
//! virtual clock.
//!
//! ```text
//! senders ──► door ──► engine (a process of its own) ──► link ─┐
//!                        └──► courier ──► sinks                ├─ network ──► vault (the store)
//!                      engine (another)  ──► link ─────────────┘
//! ```
//!
//! A seed decides everything: how many of each there are, what is lost or slow, who is killed or stands still, and which
//! task goes next. [`simulate`] runs one; [`checker::check`] says which promises the [`history`] breaks; a
//! [`Mutation`] breaks a rule on purpose, to show that it is found.

pub mod checker;
pub mod clock;
pub mod executor;
pub mod faults;
pub mod history;
mod mutation;
pub mod operator;
pub mod random;
mod run;
mod search;
pub mod store;
mod tally;
pub mod world;

pub use checker::{Rule, Violation};
pub use mutation::Mutation;
pub use run::{Run, simulate};
pub use search::{Found, Until, search};
pub use tally::Tally;
