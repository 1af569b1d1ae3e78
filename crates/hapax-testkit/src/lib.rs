//! The parts of the tests: the real binary as a process, a real sink, real signed deliveries.
//!
//! Nothing here knows the internals of the product: everything goes over sockets, files, signals and exit codes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot go wrong in a test may panic"
)]
#![expect(clippy::disallowed_methods, reason = "tests have variables of their own")]
#![expect(
    clippy::return_self_not_must_use,
    reason = "a setup that is dropped is a test that fails"
)]

mod answer;
mod clients;
mod command;
mod connection;
mod delivery;
mod gate;
mod identity;
mod ports;
mod scale;
mod seed;
mod sender;
mod service;
mod sink;
mod visitor;
mod wait;

pub use answer::HttpResponse;
pub use clients::{Repeated, deliver_all};
pub use command::{Outcome, binary, hapax as command_in, run};
pub use connection::Connection;
pub use delivery::Delivery;
pub use gate::Gate;
pub use identity::{ClaimsIn, IdentityProvider};
pub use ports::{free_address, two_free_addresses};
pub use scale::scaled;
pub use seed::seed;
pub use sender::{Sender, now, secret_of};
pub use service::{Service, Setup};
pub use sink::{Received, Reply, Sink};
pub use visitor::Visitor;
pub use wait::{PATIENCE, eventually, within};
pub use wire::Wire;

pub mod certificate;
pub mod curl;
pub mod frames;
pub mod promtool;
pub mod wire;
