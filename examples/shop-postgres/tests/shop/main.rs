//! The shop as a real process, with deliveries as Stripe signs them.

#![expect(
    clippy::unwrap_used,
    reason = "test helpers may panic, like the tests themselves"
)]

mod bank;
mod orders;
mod process;
mod sender;
