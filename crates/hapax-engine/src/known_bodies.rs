//! The bodies of duplicates, by fingerprint: a duplicate whose body is known is answered before anything in it is read.
//!
//! An entry says which event a body was found to be a duplicate of, and that stays true for ever. Whether the event is
//! still known is another question, which the seen-cache answers.

use std::sync::atomic::{AtomicBool, Ordering};

use hapax_core::{EventId, Fingerprint, Key};
use parking_lot::Mutex;

use crate::generations::Generations;
use crate::short_text::ShortText;

const SHARDS: usize = 16;

#[derive(Debug)]
pub(crate) struct KnownBodies {
    shards: Vec<Mutex<Generations<Fingerprint, KnownBody>>>,
    /// Whether there was ever an entry.
    has_any: AtomicBool,
}

/// The event that a body is a duplicate of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownBody {
    pub(crate) key: Key,
    pub(crate) id: EventId,
    /// The provider's id.
    pub(crate) event_id: ShortText,
}

impl KnownBodies {
    pub(crate) fn new(entries_max: usize) -> Self {
        let shard = || Mutex::new(Generations::new(entries_max / SHARDS));
        Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            has_any: AtomicBool::new(false),
        }
    }

    /// Whether a fingerprint may be known: where no duplicates arrive, none needs to be computed.
    pub(crate) fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Relaxed)
    }

    pub(crate) fn get(&self, fingerprint: Fingerprint) -> Option<KnownBody> {
        self.shard(fingerprint).lock().get(&fingerprint).cloned()
    }

    pub(crate) fn put(&self, fingerprint: Fingerprint, body: KnownBody) {
        self.has_any.store(true, Ordering::Relaxed);
        self.shard(fingerprint).lock().put(fingerprint, body);
    }

    fn shard(&self, fingerprint: Fingerprint) -> &Mutex<Generations<Fingerprint, KnownBody>> {
        &self.shards[usize::from(fingerprint.as_bytes()[0]) % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use hapax_core::{Fingerprinter, Identity, SystemRandom};

    use super::*;

    #[test]
    fn an_entry_is_small() {
        let bytes = size_of::<(Fingerprint, KnownBody)>();
        assert!(bytes <= 88, "{bytes} bytes");
    }

    #[test]
    fn a_body_is_known_once_it_was_put_and_never_more_than_the_limit() {
        let bodies = KnownBodies::new(256);
        let fingerprints = Fingerprinter::new(&SystemRandom::new()).unwrap();
        let body = |number: u32| KnownBody {
            key: Identity::new("shop", number.to_string()).key(),
            id: EventId::from_bytes([7; 16]),
            event_id: number.to_string().as_str().into(),
        };
        assert!(!bodies.has_any());
        for number in 0..10_000_u32 {
            let fingerprint = fingerprints.of(&number.to_be_bytes()).unwrap();
            assert_eq!(bodies.get(fingerprint), None);
            bodies.put(fingerprint, body(number));
            assert_eq!(bodies.get(fingerprint), Some(body(number)));
        }
        assert!(bodies.has_any());
        let held: usize = bodies.shards.iter().map(|shard| shard.lock().len()).sum();
        assert!(held <= 256, "{held} entries");
    }
}
