//! The heart of Hapax without any I/O: what an event is, what makes it *the same* event,
//! what can become of it, and the contract every store keeps.
//!
//! Nothing in this crate knows a database, HTTP or an async runtime. Time comes from a
//! [`Clock`], randomness from a [`Random`], so that the simulator drives the very code
//! that production runs.

#![warn(missing_docs)]

pub mod clock;
pub mod delivery;
pub mod event;
pub mod hash;
pub mod headers;
pub mod identity;
pub mod name;
pub mod random;
pub mod retry;
pub mod secret;
pub mod store;

pub use clock::{Clock, SystemClock, Timestamp};
pub use delivery::{
    Attempt, AttemptOutcome, DeliveryState, ErrorClass, Hold, Lane, Leased, NewDelivery, OnDead, Owner, Token,
};
pub use event::{EventId, EventIds, EventStatus, NewEvent, StoredEvent};
pub use hash::{BodyHash, ContentHash};
pub use headers::{ERASED, Headers};
pub use identity::{
    CONFLICT_MARK, EVENT_ID_BYTES_MAX, GENERATED, Generation, IdOrigin, IdempotencyKey, Identity, Key,
    is_set_aside,
};
pub use name::{DestinationId, Scope, SourceName};
pub use random::{Random, SystemRandom};
pub use retry::Backoff;
pub use secret::Secret;
pub use store::{Backend, Operations, Store, StoreMigration};
