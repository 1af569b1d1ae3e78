//! The simulator: the very engine that runs in production, over the model store, under a seeded scheduler and a virtual
//! clock.
//!
//! ```text
//! senders ──► door ──► engine (one process) ──► link ──────────┐
//!                        └──► courier ──► sinks                ├─ network ──► vault (the store)
//!                      engine (another)  ──► link ─────────────┘
//! ```
//!
//! A seed decides everything: how many of each there are, what is lost or slow, which process is killed or suspended,
//! and which task runs next. [`simulate`] runs one; [`checker::check`] reports which promises the [`history`] breaks; a
//! [`Mutation`] breaks a rule on purpose, to prove that the checker finds it.

pub mod checker;
pub mod clock;
mod course;
pub mod executor;
pub mod faults;
pub mod history;
mod mutation;
pub mod operator;
pub mod random;
mod rule;
mod run;
mod search;
pub mod store;
mod tally;
pub mod world;

pub use checker::Violation;
pub use mutation::Mutation;
pub use rule::Rule;
pub use run::{Run, simulate};
pub use search::{Found, Until, search};
pub use tally::Tally;
