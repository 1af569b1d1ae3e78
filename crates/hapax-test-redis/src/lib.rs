//! A private Redis for tests, so that they run against the real thing and never touch the machine's own server.
//!
//! [`Server::shared`] and [`Cluster::shared`] serve all test processes of a run: started by the first, stopped a few
//! seconds after the last exits; each test uses its own prefix. [`Server::start`] and [`Cluster::start`] are for a test
//! that kills, freezes or fills them.

mod cluster;
mod error;
mod folder;
mod node;
mod server;
mod shared;
mod wire;

pub use cluster::{Cluster, SlotMove};
pub use error::ServerError;
pub use node::Node;
pub use server::Server;
pub use wire::{Connection, Reply};

/// A prefix that no other test has.
pub fn fresh_prefix() -> String {
    format!("test-{:016x}", fastrand::u64(..))
}
