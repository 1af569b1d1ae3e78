//! The service as a whole: real listeners on free ports, a real SQLite file, real destinations.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, and so do its helpers"
)]

mod answers;
mod batches;
mod by_get;
mod certified;
mod command_destination;
mod day;
mod delivery;
mod earlier_ids;
mod encrypted;
mod handover;
mod handshakes;
mod http2;
mod http_destination;
mod ids;
mod keys;
mod life;
mod limits;
mod pages;
mod paypal;
mod proxied;
mod reload;
mod site;
mod sql_destination;
mod still_sending;
mod traces;
