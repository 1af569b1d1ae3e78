//! An entry of the ledger as bytes: 66 of them, unless the identity was forgotten or its content has a separate hash.
//! `scripts/ledger.lua` writes the same.

use hapax_core::store::LedgerEntry;
use hapax_core::{BodyHash, ContentHash, EventId, Generation, Key, Timestamp};

use crate::failure::{Failure, damaged};

/// Bytes that every entry has.
const BASE: usize = 66;
/// The greatest time that scripts can represent exactly.
const TIME_MAX: i64 = 1 << 53;
const MICROS_OF_AN_HOUR: i64 = 3_600_000_000;

/// An entry with fields that only the store knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) known: LedgerEntry,
    pub(crate) scope: u16,
    pub(crate) is_forgotten: bool,
}

/// Ledger hashes per shard. With more of them, Redis takes longer to find one; with fewer, they are larger to read and
/// to move.
pub(crate) const BUCKETS: usize = 1 << 10;

/// The ledger hash of a key: the key's first bits, so that hashes sort as keys do.
pub(crate) fn bucket(key: Key) -> String {
    let [first, second, ..] = *key.as_bytes();
    format!("{:03x}", u16::from_be_bytes([first, second]) >> 6)
}

/// A time in the form used by entries.
pub(crate) fn time(time: Timestamp) -> [u8; 8] {
    time.as_micros().clamp(0, TIME_MAX).to_be_bytes()
}

/// The hour whose list holds an entry with this expiry, as `scripts/accept.lua` computes it.
pub(crate) fn hour(expires_at: Timestamp) -> i64 {
    expires_at.as_micros().clamp(0, TIME_MAX) / MICROS_OF_AN_HOUR
}

/// The bytes after flag and generation.
pub(crate) fn content(hash: Option<&ContentHash>) -> Vec<u8> {
    hash.map(|content| [content.hash.as_bytes(), content.rule.as_bytes()].concat())
        .unwrap_or_default()
}

impl Entry {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        parse(bytes).ok_or_else(|| damaged("an entry of the ledger"))
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let known = &self.known;
        let mut bytes = Vec::with_capacity(BASE);
        bytes.extend(known.id.as_bytes());
        bytes.extend(known.raw_hash.as_bytes());
        bytes.extend(time(known.first_seen));
        bytes.extend(time(known.expires_at));
        bytes.extend(self.scope.to_be_bytes());
        let content = content(known.content_hash.as_ref());
        if self.is_forgotten || known.generation != Generation::default() || !content.is_empty() {
            bytes.push(u8::from(self.is_forgotten));
            bytes.extend(known.generation.0.to_be_bytes());
            bytes.extend(content);
        }
        bytes
    }
}

fn parse(bytes: &[u8]) -> Option<Entry> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (raw_hash, rest) = rest.split_first_chunk()?;
    let (first_seen, rest) = rest.split_first_chunk()?;
    let (expires_at, rest) = rest.split_first_chunk()?;
    let (scope, rest) = rest.split_first_chunk()?;
    let (is_forgotten, generation, content_hash) = match rest.split_first() {
        None => (false, 0, None),
        Some((flag, rest)) => {
            let (generation, content) = rest.split_first_chunk()?;
            (
                *flag == 1,
                u32::from_be_bytes(*generation),
                match content {
                    [] => None,
                    content => Some(read_content(content)?),
                },
            )
        }
    };
    Some(Entry {
        known: LedgerEntry {
            id: EventId::from_bytes(*id),
            generation: Generation(generation),
            first_seen: read_time(*first_seen),
            expires_at: read_time(*expires_at),
            raw_hash: BodyHash::from_bytes(*raw_hash),
            content_hash,
        },
        scope: u16::from_be_bytes(*scope),
        is_forgotten,
    })
}

const fn read_time(bytes: [u8; 8]) -> Timestamp {
    Timestamp::from_micros(i64::from_be_bytes(bytes))
}

fn read_content(bytes: &[u8]) -> Option<ContentHash> {
    let (hash, rule) = bytes.split_first_chunk()?;
    Some(ContentHash {
        hash: BodyHash::from_bytes(*hash),
        rule: String::from_utf8(rule.to_vec()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(generation: u32, content_hash: Option<ContentHash>) -> Entry {
        Entry {
            known: LedgerEntry {
                id: EventId::from_bytes([7; 16]),
                generation: Generation(generation),
                first_seen: Timestamp::from_micros(1_767_225_600_123_456),
                expires_at: Timestamp::from_micros(1_769_817_600_654_321),
                raw_hash: BodyHash::of(b"body"),
                content_hash,
            },
            scope: 3,
            is_forgotten: generation == 2,
        }
    }

    #[test]
    fn a_plain_entry_is_short_and_too_long_to_be_packed() {
        let bytes = entry(0, None).to_bytes();
        assert_eq!(
            bytes.len(),
            66,
            "up to 64, Redis goes through all of a hash to find one"
        );
    }

    #[test]
    fn every_entry_reads_back() {
        let content = ContentHash {
            hash: BodyHash::of(b"content"),
            rule: "v1:/attempt".to_owned(),
        };
        for entry in [
            entry(0, None),
            entry(1, None),
            entry(2, None),
            entry(0, Some(content.clone())),
            entry(2, Some(content)),
        ] {
            assert_eq!(Entry::from_bytes(&entry.to_bytes()).unwrap(), entry);
        }
    }

    #[test]
    fn what_is_no_entry_is_damage() {
        for bytes in [&b""[..], &[0; 65], &[0; 68]] {
            assert!(Entry::from_bytes(bytes).is_err());
        }
    }
}
