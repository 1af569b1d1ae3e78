//! The admin port and the verbs that talk to it: the real router on a real socket, a real engine on a real SQLite file,
//! and destinations whose answers the test chooses.

#![expect(
    clippy::unwrap_used,
    reason = "what a test stands on may panic, as the test itself"
)]

mod access;
mod deliveries;
mod described;
mod duplicates;
mod events;
mod ledger;
mod limited;
mod live;
mod pages;
mod places;
mod probes;
mod replays;
mod search;
mod site;
mod stream;
mod verbs;
