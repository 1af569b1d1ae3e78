//! Shards: parts of the store that each live on one server. Everything about an identity is in one of them.
//!
//! A cluster assigns a key by the text in braces. Every key of a shard begins with the same one, its *tag*, so one
//! script may change all of them together. Tags are chosen so that shards are spread evenly over the slots.

use hapax_core::{EventId, Key};

/// The number of slots of a Redis Cluster.
const SLOTS: u16 = 16_384;

/// The maximum number of shards of a store: as many as there are buckets of identities.
pub(crate) const SHARDS_MAX: u8 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Shard(pub(crate) u8);

/// The shard of records that do not belong to an identity, such as the audit trail.
pub(crate) const HOME: Shard = Shard(0);

#[derive(Clone, Debug)]
pub(crate) struct Shards {
    tags: Vec<Tag>,
}

#[derive(Clone, Debug)]
struct Tag {
    text: String,
    slot: u16,
}

impl Shards {
    /// `count` shards, a power of two up to [`SHARDS_MAX`].
    pub(crate) fn new(prefix: &str, count: u8) -> Self {
        let tags = (0..count)
            .map(|shard| Tag::spread(prefix, shard, count))
            .collect();
        Self { tags }
    }

    /// The one shard that is known before the number of shards is.
    pub(crate) fn first_look(prefix: &str) -> Self {
        let slot = crc16(0, prefix.as_bytes()) % SLOTS;
        let text = format!("{{{prefix}}}");
        Self {
            tags: vec![Tag { text, slot }],
        }
    }

    pub(crate) fn count(&self) -> u8 {
        self.tags.len() as u8
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Shard> + use<> {
        (0..self.count()).map(Shard)
    }

    pub(crate) fn of_key(&self, key: Key) -> Shard {
        Shard(key.bucket() % self.count())
    }

    pub(crate) fn of_event(&self, id: EventId) -> Shard {
        Shard(id.bucket() % self.count())
    }

    /// The shard for this name: the same for every process.
    pub(crate) fn of_name(&self, parts: &[&[u8]]) -> Shard {
        let mut hash = 0;
        for part in parts {
            hash = crc16(hash, part);
            hash = crc16(hash, &[0]);
        }
        Shard((hash % u16::from(self.count())) as u8)
    }

    /// The beginning of every key of the shard.
    pub(crate) fn tag(&self, shard: Shard) -> &str {
        &self.tags[usize::from(shard.0)].text
    }

    pub(crate) fn slot(&self, shard: Shard) -> u16 {
        self.tags[usize::from(shard.0)].slot
    }
}

impl Tag {
    /// The first tag for a shard in its share of the slots.
    fn spread(prefix: &str, shard: u8, count: u8) -> Self {
        let width = SLOTS / u16::from(count);
        let own = u16::from(shard) * width..(u16::from(shard) + 1) * width;
        let mut number = 0_u32;
        loop {
            let name = format!("{prefix}:{shard}.{number}");
            let slot = crc16(0, name.as_bytes()) % SLOTS;
            if own.contains(&slot) {
                return Self {
                    text: format!("{{{name}}}"),
                    slot,
                };
            }
            number += 1;
        }
    }
}

/// CRC-16/XMODEM, which a cluster uses to find the slot of a key.
fn crc16(start: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(start, |mut crc, byte| {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
        }
        crc
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_cluster_specification() {
        assert_eq!(crc16(0, b"123456789"), 0x31c3);
    }

    #[test]
    fn shards_are_spread_evenly_over_the_slots() {
        for count in [1, 2, 16, SHARDS_MAX] {
            let shards = Shards::new("hapax", count);
            let share = SLOTS / u16::from(count);
            for shard in shards.all() {
                assert_eq!(shards.slot(shard) / share, u16::from(shard.0));
            }
        }
    }

    #[test]
    fn an_identity_and_its_event_are_in_one_shard() {
        let shards = Shards::new("hapax", 16);
        let key = hapax_core::Identity::new("stripe", "evt_1").key();
        let now = hapax_core::Timestamp::from_seconds(1_767_225_600);
        let id = hapax_core::EventIds::default().next(now, key, &hapax_core::SystemRandom::new());
        assert_eq!(shards.of_key(key), shards.of_event(id));
    }
}
