//! The duplicate-delivery test for webhook handlers: any handler, in any language, over HTTP.
//!
//! Providers deliver at least once, so the same event arrives again: immediately, at the same moment, while the first
//! delivery is still being handled, or after a crash. [`Twice`] delivers signed events in these ways, compares the
//! application's state before and after, and reports whether each event took effect exactly once. It also sends
//! deliveries that must be refused.
//!
//! ```no_run
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! use hapax_twice::Twice;
//!
//! Twice::new("http://127.0.0.1:3000/webhooks")
//!     .provider("stripe")
//!     .secret("whsec_test")
//!     .snapshot(|| async { std::fs::read_to_string("payments.csv") })
//!     .run()
//!     .await?
//!     .assert();
//! # Ok(())
//! # }
//! ```
//!
//! The command `hapax twice run` does the same from a shell. `effect.rs` describes how effects are compared, and
//! `run.rs` describes the steps of a run.

#![warn(missing_docs)]

mod client;
mod clock;
mod effect;
mod error;
mod event;
mod finding;
mod folder;
pub mod plan;
mod proxy;
mod report;
mod run;
mod sender;
mod snapshot;
mod twice;

pub use effect::Change;
pub use error::Error;
pub use event::EventProblem;
pub use finding::{Finding, FindingKind};
pub use plan::Plan;
pub use proxy::{Exchange, NotARepeat, Proxy, Repeat, Tally};
pub use report::{EventSummary, PlanOutcome, PlanResult, Report};
pub use snapshot::SnapshotError;
pub use twice::Twice;
