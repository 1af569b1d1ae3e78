//! A private PostgreSQL for tests, so that they run against the real thing and never touch the
//! machine's own server.
//!
//! [`Server::shared`] is one server for all test processes of a run: started by the first, stopped
//! some seconds after the last is gone. [`Server::private`] is one for a test that kills it. A server can
//! have a [`Server::standby`] and a [`Pooler`] in front of it. A [`Cluster`] is not started here, only found.
//!
//! The programs are those of the newest PostgreSQL that is installed, or those in the folder that
//! `HAPAX_TEST_POSTGRES_BIN` names.

mod certificate;
mod cluster;
mod database;
mod folder;
mod pooler;
mod program;
mod server;
mod shared;

pub use cluster::Cluster;
pub use database::Database;
pub use pooler::Pooler;
pub use server::{Server, ServerError, Stop};
