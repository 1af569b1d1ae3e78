//! The store of Hapax for very high volume: Redis or Redis Cluster.

mod options;

pub use options::Options;
