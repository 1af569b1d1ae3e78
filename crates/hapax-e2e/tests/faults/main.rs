//! The fault suite: real processes with named fail points (feature `fail-points`), broken in every way we can think of,
//! and an external checker of all responses, effects and stored states.
//!
//! A separate test target, since it uses another binary. `./test faults` runs it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot go wrong in a test may panic; only functions marked as tests are excused by themselves"
)]

mod books;
mod checker;
mod clock;
mod destinations;
mod freezes;
mod history;
mod kills;
mod limits;
mod link;
mod load;
mod points;
mod redis;
mod release;
mod report;
mod servers;
mod stores;
mod torture;
mod upgrade;
mod wires;
mod world;
