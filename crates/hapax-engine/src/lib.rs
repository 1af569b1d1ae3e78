//! The engine: accept, dispatch, run, finish, replay, retain.
//!
//! It contains no HTTP and no database. It is given a store, a transport that carries deliveries out, a clock,
//! randomness and a runtime, so the simulator drives the very code that runs in production. Everything else is
//! deterministic: `select!` is biased throughout, and no hasher decides the order of store calls. Named fail points
//! (feature `fail-points`) mark where a crash matters; docs/GUARANTEES.md lists them.
//!
//! ```text
//! accept ──► (store) ──► dispatch ──► run ──► finish ──► (store)
//!    └── already leased ───────────────────►┘
//! ```

mod accept;
mod alive;
mod audit;
mod backlog;
mod breaker;
mod destination_runtime;
mod dispatch;
mod engine;
mod erase;
mod finish;
mod finished;
mod flush;
mod gather;
mod generations;
mod heartbeat;
mod held_leases;
mod incoming;
mod indexes;
mod known_bodies;
mod lifecycle;
mod observe;
mod operate;
mod owners;
mod pauses;
mod plan;
mod processed;
mod rate;
pub mod registration;
mod replay;
mod requests;
mod retain;
mod routing;
mod run;
mod runtime;
mod search;
mod seen;
mod short_text;
mod slots;
mod transport;
mod watchers;

pub use accept::{ADDRESS_HEADER, Accepting, Answer, BodyFacts, DirectedEvent, Recalled};
pub use engine::{Engine, Limits, Parts};
pub use erase::Erasure;
pub use incoming::{Accepted, IncomingEvent, Refusal};
pub use lifecycle::ShutdownReport;
pub use observe::{Notice, Observation, Observer, Silent};
pub use operate::{DestinationStatus, ReleaseError};
pub use processed::Processed;
pub use rate::Rate;
pub use replay::{ReplayPreview, ReplayRequest};
pub use routing::{Destination, OnConflict, OrderBy, Pattern, Route, Routing, SameBody};
pub use runtime::{BoxFuture, Runtime, TokioRuntime};
pub use search::{BODIES_MAX, Coverage, Found, SearchCursor};
pub use transport::{AttemptResult, Reply, Transport};
