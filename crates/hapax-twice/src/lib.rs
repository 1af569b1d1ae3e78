//! The duplicate-delivery test for webhook handlers: anyone's, in any language, over HTTP.
//!
//! Senders deliver at least once, so the same event comes again: right away, at the same moment, while the first is
//! still being worked on, after a crash. [`Twice`] delivers signed events in these ways, looks at the application's state
//! before and after, and says whether each event took effect exactly once. It also sends what must be refused.
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
//! The command `hapax twice run` does the same from a shell. How effects are compared is described in `effect.rs`, and
//! how a run goes in `run.rs`.

#![warn(missing_docs)]

mod client;
mod effect;
mod error;
mod event;
mod finding;
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
