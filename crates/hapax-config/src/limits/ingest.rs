//! What a delivery may use, beside its source's `body_limit` and the listener's own limits.

use std::time::Duration;

use crate::Rate;

/// The limits of every delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A body that is not there in full after this long is cut off.
    pub body_timeout: Duration,
    /// How long a body may fall below its least rate.
    pub body_grace: Duration,
    /// Bytes a second that a body has at least to bring over each `body_grace`; one that brings fewer is cut off.
    pub body_rate_min: u32,
    /// Bytes of all bodies that no one has proven yet; a body that would go beyond is answered 503.
    pub unproven_bytes_max: usize,
    /// The same, of those that one peer sends.
    pub peer_unproven_bytes_max: usize,
    /// Bytes of all bodies that are proven and wait for their answer; one more is answered 503.
    pub proven_bytes_max: usize,
    /// Refusals of one peer that are answered at once; the answers to more are held back.
    pub peer_refusals: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_timeout: Duration::from_secs(30),
            body_grace: Duration::from_secs(5),
            body_rate_min: 1024,
            unproven_bytes_max: 128 << 20,
            peer_unproven_bytes_max: 64 << 20,
            proven_bytes_max: 128 << 20,
            peer_refusals: Rate {
                count: 50,
                per: Duration::from_secs(1),
            },
        }
    }
}
