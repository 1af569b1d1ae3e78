//! The core of Hapax, without any I/O: what an event is, what makes it *the same* event, the states of its deliveries,
//! and the contract that every store keeps.
//!
//! Nothing in this crate depends on a database, HTTP or an async runtime. Time comes from a [`Clock`] and randomness
//! from a [`Random`], so the simulator runs the same code as production.

#![warn(missing_docs)]

mod body_term;
pub mod clock;
pub mod delivery;
pub mod event;
pub mod event_id;
pub mod fingerprint;
pub mod hash;
pub mod headers;
pub mod identity;
pub mod json_pointer;
pub mod leased;
pub mod name;
pub mod percent;
pub mod problem;
pub mod random;
pub mod retry;
pub mod secret;
pub mod store;

pub use clock::{Clock, SystemClock, Timestamp};
pub use delivery::{
    Attempt, AttemptOutcome, DeliveryState, ErrorClass, Hold, Lane, NewDelivery, OnDead, Owner, Token,
};
pub use event::{EventStatus, NewEvent, StoredEvent};
pub use event_id::{EventId, EventIds};
pub use fingerprint::{Fingerprint, Fingerprinter};
pub use hash::{BodyHash, ContentHash};
pub use headers::{ERASED, Headers};
pub use identity::{
    CONFLICT_MARK, EVENT_ID_BYTES_MAX, GENERATED, Generation, IdOrigin, IdempotencyKey, Identity, Key,
    is_set_aside,
};
pub use leased::Leased;
pub use name::{DestinationId, Scope, SourceName};
pub use random::{Random, SystemRandom};
pub use retry::Backoff;
pub use secret::Secret;
pub use store::{Backend, Operations, Store, StoreMigration};
