//! What the tests are made of: the real binary as a process, a real sink, real signed deliveries.
//!
//! Nothing here knows the inside of the product: everything goes over sockets, files, signals and exit codes.

mod answer;
mod clients;
mod command;
mod connection;
mod delivery;
mod gate;
mod identity;
mod ports;
mod raw;
mod scale;
mod seed;
mod sender;
mod service;
mod setup;
mod sink;
mod visitor;
mod wait;

pub(crate) use answer::HttpResponse;
pub(crate) use clients::{Copies, deliver_all};
pub(crate) use command::{Outcome, hapax as command_in, run};
pub(crate) use connection::Connection;
pub(crate) use delivery::Delivery;
pub(crate) use gate::Gate;
pub(crate) use identity::{ClaimsIn, IdentityProvider};
pub(crate) use ports::{free_address, two_free_addresses};
pub(crate) use raw::RawConnection;
pub(crate) use scale::scaled;
pub(crate) use seed::seed;
pub(crate) use sender::{Sender, now, secret_of};
pub(crate) use service::Service;
pub(crate) use setup::Setup;
pub(crate) use sink::{Received, Reply, Sink};
pub(crate) use visitor::Visitor;
pub(crate) use wait::{eventually, within};
