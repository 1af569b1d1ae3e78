//! The engine against the in-memory store, in virtual time: hours pass in milliseconds and nothing
//! waits for a real clock.
#![allow(clippy::unwrap_used)] // The harness is test code, too.

mod accept;
mod accept_conflicts;
mod ahead;
mod alive;
mod backlog;
mod batches;
mod deliver;
mod directed;
mod earlier_ids;
mod first_leases;
mod harness;
mod operate;
mod order;
mod recall;
mod replay;
mod retain;
mod same_body;
mod search;
mod shutdown;
