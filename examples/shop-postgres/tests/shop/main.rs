//! The shop as a real process, with deliveries as Stripe signs them.

#![expect(
    clippy::unwrap_used,
    reason = "what a test stands on may panic, as the test itself"
)]

mod bank;
mod orders;
mod process;
mod sender;
