//! What every Hapax store must do, as tests that any store can run, and the in-memory model.
//!
//! Each promise of [`hapax_core::Store`] and [`hapax_core::Operations`] is one *law*: an async
//! function in [`mod@laws`] that drives a store and panics where the promise is broken. A store runs
//! all of them, none skipped, with one line in its `tests/laws.rs`:
//!
//! ```
//! use hapax_store_laws::model::{MemorySubject, Restart};
//!
//! hapax_store_laws::laws!(MemorySubject::new(Restart::VoidsLeases));
//! ```
//!
//! where the argument makes a [`Subject`], here the model's own: how to get an empty store, how to crash and restart
//! it, and how its time passes. Beside the laws runs [`property::behaves_like_the_model`], which
//! drives the store and [`MemoryStore`] with the same random steps.
//!
//! # How the contract is read
//! Where the contract's sentences leave room, the laws read them like this:
//! - **A lease holds until it is taken back.** An expired lease that no one rescued may still be
//!   extended and finished: the row is running under that very token.
//! - **A crash is a lost lease**, whether the store voids leases when it is opened or lets them
//!   expire: `lost + 1`, so that a payload that kills the process is dead after three.
//! - **`Failed` is what has failed**: an event whose second attempt is running, or was released or
//!   rescued, is still [`hapax_core::EventStatus::Failed`]. A discarded delivery counts as done.
//! - **A replay covers** the order's destination, or all of the event's; if any of those is
//!   unfinished, the event is refused whole. Attempts and losses start at zero.
//! - **Generations count per identity**: every `forget` and forced replay takes one that was never
//!   used, whichever event of the identity it is for.
//! - **A dead letter is the last outcome** of a delivery: once replayed, the earlier outcome is
//!   history and is neither listed nor counted as dead. Its attempts stay.
//! - **A paused destination** gets nothing from `lease`; what runs there may extend and finish.
//! - **An event goes when both windows are over**: received before `payload_before`, and each of
//!   its dead letters, discarded or not, dead before `dead_before`, as this very order says them.
//! - **Restoring a discarded delivery** does not stop its lane again. A dead letter that is purged
//!   lets its lane go on.

pub mod bench;
pub mod clock;
pub mod laws;
pub mod marks;
pub mod model;
pub mod property;
mod registry;
mod sealed;
pub mod subject;

pub use bench::Bench;
pub use clock::ManualClock;
pub use model::MemoryStore;
pub use registry::{CHECKS, LAWS};
pub use sealed::{SealedSubject, re_encrypt, turn_on_and_rotate};
pub use subject::{Subject, check};
