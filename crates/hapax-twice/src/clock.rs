//! The time that deliveries are signed with and checked at.

use hapax_core::{Clock as _, SystemClock};

/// The current time, in seconds since 1970.
pub(crate) fn unix_seconds() -> i64 {
    SystemClock::default().now().as_seconds()
}
