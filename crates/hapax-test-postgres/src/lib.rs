//! A private PostgreSQL for tests, so that they run against the real thing and never touch the
//! machine's own server.
//!
//! [`Server::shared`] is one server for all test processes of a run: started by the first, stopped a few seconds after
//! the last exits. [`Server::private`] is for a test that kills its server. A server can have a [`Server::standby`] and
//! a [`Pooler`] in front of it. A [`Cluster`] is not started here, only found.
//!
//! The programs come from the newest installed PostgreSQL, or from the folder named by `HAPAX_TEST_POSTGRES_BIN`.

#![expect(clippy::disallowed_methods, reason = "tests have variables of their own")]

mod certificate;
mod cluster;
mod daemon;
mod database;
mod error;
mod folder;
mod pooler;
mod port;
mod program;
mod server;
mod shared;

pub use cluster::Cluster;
pub use daemon::Stop;
pub use database::Database;
pub use error::ServerError;
pub use pooler::Pooler;
pub use server::Server;
