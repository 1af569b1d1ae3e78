//! The contract of every Hapax store, as tests that any store can run, and the in-memory model.
//!
//! Each promise of [`hapax_core::Store`] and [`hapax_core::Operations`] is one *law*: an async function in [`mod@laws`]
//! that drives a store and panics if the promise is broken. A store runs all of them, none skipped, with one line in
//! its `tests/laws.rs`:
//!
//! ```
//! use hapax_store_laws::model::{MemorySubject, Restart};
//!
//! hapax_store_laws::laws!(MemorySubject::new(Restart::VoidsLeases));
//! ```
//!
//! where the argument creates a [`Subject`], here the model's own: how to get an empty store, how to crash and restart
//! it, and how its time passes. In addition to the laws, [`property::behaves_like_the_model`] drives the store and
//! [`MemoryStore`] with the same random steps.
//!
//! # How the contract is read
//! Where the contract leaves room for interpretation, the laws read it like this:
//! - **A lease holds until it is taken back.** An expired lease that was not rescued may still be
//!   extended and finished: the delivery is still running under that token.
//! - **A crash is a lost lease**, whether the store voids leases when it is opened or lets them
//!   expire: `lost + 1`, so that a payload that kills the process is dead after three.
//! - **`Failed` means that an attempt has failed**: an event whose second attempt is running, or was released or
//!   rescued, is still [`hapax_core::EventStatus::Failed`]. A discarded delivery counts as done.
//! - **A replay covers** the order's destination, or all of the event's; if any of those is
//!   unfinished, the whole event is refused. Attempts and losses start at zero.
//! - **Generations count per identity**: every `forget` and forced replay takes one that was never
//!   used, whichever event of the identity it is for.
//! - **A dead letter is the last outcome** of a delivery: once replayed, the earlier outcome is
//!   history and is neither listed nor counted as dead. Its attempts stay.
//! - **A paused destination** gets nothing from `lease`; running deliveries may still be extended and finished.
//! - **An event is purged when both windows have ended**: received before `payload_before`, and each of
//!   its dead letters, discarded or not, dead before `dead_before`, as given in the current order.
//! - **Restoring a discarded delivery** does not block its lane again. Purging a dead letter
//!   lets its lane continue.

pub mod bench;
pub mod check;
pub mod clock;
pub mod laws;
pub mod marks;
pub mod model;
pub mod property;
mod registry;
pub mod replicas;
mod sealed;
pub mod subject;

pub use bench::Bench;
pub use check::check;
pub use clock::ManualClock;
pub use model::MemoryStore;
pub use registry::{CHECKS, LAWS};
pub use sealed::{SealedSubject, re_encrypt, turn_on_and_rotate};
pub use subject::Subject;
