//! The simulated store: one vault, in memory, and for each process a link to it over a lossy network.

mod link;
mod network;
mod vault;

pub use link::Link;
pub use network::{CALL_TIMEOUT, Fate, Network};
pub use vault::Vault;
