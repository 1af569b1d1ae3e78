//! Destinations that events are delivered to, and the outboxes that they come from.

pub mod destination;
pub mod outbox;
pub mod percent;
