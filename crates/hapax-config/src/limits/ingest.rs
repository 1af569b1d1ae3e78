//! Limits on a request, in addition to its source's `body_limit` and the listener's limits.

use std::time::Duration;

use crate::Rate;

/// The limits on each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A body that has not arrived in full after this long is cut off.
    pub body_timeout: Duration,
    /// The period over which the body's rate is measured.
    pub body_grace: Duration,
    /// The fewest bytes per second that a body must bring over each `body_grace`. A slower one is cut off.
    pub body_rate_min: u32,
    /// The most bytes of all bodies that are not verified yet. A body that would exceed it is answered 503.
    pub unproven_bytes_max: usize,
    /// The same limit for the bodies from one peer.
    pub peer_unproven_bytes_max: usize,
    /// The most bytes of all bodies that are verified and waiting for a response. A body that would exceed it is
    /// answered 503.
    pub proven_bytes_max: usize,
    /// The rate at which one peer's refusals are answered immediately. Further responses are delayed.
    pub peer_refusals: Rate,
}

/// The period over which a body's rate is measured.
pub(super) const BODY_GRACE: Duration = Duration::from_secs(5);

impl Default for Limits {
    fn default() -> Self {
        super::Limits::default().ingest
    }
}
