//! What a delivery may use, beside its source's `body_limit` and the listener's own limits.

use std::time::Duration;

/// The limits of every delivery.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A body that is not there in full after this long is cut off.
    pub body_timeout: Duration,
    /// Bytes of all bodies that are being read or wait for their answer; a body that would go beyond is answered 503.
    pub body_bytes_in_flight_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_timeout: Duration::from_secs(30),
            body_bytes_in_flight_max: 128 << 20,
        }
    }
}
