//! The id that Hapax assigns to an event.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Key, Random, Timestamp};

/// The id that Hapax assigns to an accepted event: a version 7 UUID.
///
/// In addition to the time, its bits carry a counter that makes the ids of one process increase even within a
/// millisecond ([`EventId::order`]), and the bucket of the event's ledger key ([`EventId::bucket`]), so that a
/// distributed store can locate the row from the id alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(Uuid);

impl EventId {
    /// Bits of the counter within a millisecond.
    const COUNTER_BITS: u32 = 20;

    fn compose(order: u64, bucket: u8, random: u64) -> Self {
        let millis = order >> Self::COUNTER_BITS;
        let counter = order & ((1 << Self::COUNTER_BITS) - 1);
        let high = (millis << 16) | (0x7 << 12) | (counter >> 8);
        let low = (0b10 << 62)
            | ((counter & 0xff) << 54)
            | (((random >> 16) & 0xffff_ffff_ffff) << 6)
            | u64::from(bucket & 0x3f);
        Self(Uuid::from_u64_pair(high, low))
    }

    /// Restores a stored id.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The sixteen bytes of the UUID.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Increases with the time of acceptance: milliseconds and a counter, 61 bits until the year 4147. Unique within
    /// one process; a store that keys rows by it must handle collisions.
    pub const fn order(&self) -> u64 {
        let (high, low) = self.0.as_u64_pair();
        ((high >> 16) << Self::COUNTER_BITS) | ((high & 0xfff) << 8) | ((low >> 54) & 0xff)
    }

    /// The smallest [`EventId::order`] of any id made at `timestamp` or later.
    pub const fn order_at(timestamp: Timestamp) -> u64 {
        timestamp.as_millis() << Self::COUNTER_BITS
    }

    /// The smallest id with this [`EventId::order`]; every id with a lower order is less.
    pub fn least_of(order: u64) -> Self {
        Self::compose(order, 0, 0)
    }

    /// Converts an [`EventId::order`] to microseconds, the form in which it is exported to another store: below 2^52
    /// until the year 2112, so that a store that continues counting from it stays within the range of every backend.
    /// Events of one process keep their order as long as it accepts fewer than a thousand per millisecond.
    pub const fn order_in_micros(order: u64) -> u64 {
        let counter = order & ((1 << Self::COUNTER_BITS) - 1);
        (order >> Self::COUNTER_BITS) * 1_000 + counter
    }

    /// The bucket of the ledger key that this id was made for.
    pub const fn bucket(&self) -> u8 {
        (self.0.as_u64_pair().1 & 0x3f) as u8
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::str::FromStr for EventId {
    type Err = NotAnEventId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::try_parse(text)
            .map(Self)
            .map_err(|_| NotAnEventId(text.to_owned()))
    }
}

impl Serialize for EventId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EventId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The string is not a Hapax event id.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a Hapax event id: an id is a UUID, as the response to the webhook and `hapax events list` show it"
)]
pub struct NotAnEventId(String);

/// Generates ids that increase for the lifetime of the process, even if the clock steps back.
#[derive(Debug, Default)]
pub struct EventIds {
    last: AtomicU64,
}

impl EventIds {
    /// The next id, for an event with this ledger key.
    pub fn next(&self, now: Timestamp, key: Key, random: &dyn Random) -> EventId {
        let floor = EventId::order_at(now);
        let previous = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(floor.max(last + 1))
            })
            .unwrap_or_default();
        EventId::compose(floor.max(previous + 1), key.bucket(), random.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Identity, SystemRandom};

    #[test]
    fn ids_are_version_7_and_carry_their_order_and_bucket() {
        let key = Identity::new("stripe", "evt_1").key();
        let now = Timestamp::from_micros(1_767_225_600_123_456);
        let id = EventIds::default().next(now, key, &SystemRandom::new());
        assert_eq!(id.0.get_version_num(), 7);
        assert_eq!(id.bucket(), key.bucket());
        assert_eq!(id.order(), EventId::order_at(now));
        assert_eq!(id.to_string().parse::<EventId>().unwrap(), id);
    }

    #[test]
    fn an_order_in_microseconds_is_small_and_keeps_events_apart() {
        let ids = EventIds::default();
        let key = Identity::new("a", "b").key();
        let random = SystemRandom::new();
        let now = Timestamp::from_micros(1_767_225_600_123_456);
        let orders: Vec<u64> = (0..1_000)
            .map(|_| EventId::order_in_micros(ids.next(now, key, &random).order()))
            .collect();
        assert_eq!(orders[0], 1_767_225_600_123_000);
        assert!(orders.is_sorted_by(|one, other| one < other));
        let next = ids.next(Timestamp::from_micros(1_767_225_600_124_000), key, &random);
        assert!(EventId::order_in_micros(next.order()) > orders[999]);
        assert!(orders[999] < 1 << 52);
    }

    #[test]
    fn ids_increase_even_when_the_clock_steps_back() {
        let ids = EventIds::default();
        let key = Identity::new("a", "b").key();
        let random = SystemRandom::new();
        let first = ids.next(Timestamp::from_seconds(2_000_000_000), key, &random);
        let second = ids.next(Timestamp::from_seconds(1_000_000_000), key, &random);
        assert!(second.order() > first.order());
        assert!(second > first);
    }
}
