//! A delivery under a lease, with everything that an attempt needs.

use crate::{DestinationId, Generation, Hold, IdempotencyKey, Lane, StoredEvent, Timestamp, Token};

/// A delivery that this process may run until the lease expires.
#[derive(Clone, Debug)]
pub struct Leased {
    /// The event with its payload.
    pub event: StoredEvent,
    /// The destination to deliver to.
    pub destination: DestinationId,
    /// The lease's token, which fences every later write.
    pub token: Token,
    /// When the lease expires unless it is extended (the store's clock).
    pub lease_until: Timestamp,
    /// The generation of the event's identity.
    pub generation: Generation,
    /// The idempotency key: the same for every attempt.
    pub idempotency_key: IdempotencyKey,
    /// The number of this attempt, counted from 1.
    pub attempt: u32,
    /// How many leases of this delivery have expired.
    pub lost: u32,
    /// The lane it belongs to, if the destination is ordered.
    pub lane: Option<Lane>,
}

impl Leased {
    /// The [`Hold`] to present when writing about this delivery.
    pub fn hold(&self) -> Hold {
        Hold {
            event: self.event.id,
            destination: self.destination.clone(),
            token: self.token,
        }
    }
}
