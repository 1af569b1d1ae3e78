//! `[server.limits]`: what the ingest listener allows a client before a signature has been verified.

pub mod ingest;
pub mod listen;

use std::time::Duration;

use super::rate::Rate;
use super::section::Section;
use super::setting::{Key, Size, Table};

/// A key of `[server]`, which the listener needs.
pub(super) static KEEP_ALIVE: Key<Duration> = Key::with_default(
    "keep_alive",
    "150s",
    "How long a connection stays open for its next request; it may be up to twice as long. Keep it longer than a proxy in front keeps its connections.",
)
.within("30s", "1h");

static CONNECTIONS: Key<u32> = Key::with_default(
    "connections",
    "16384",
    "Open connections; more are answered 503. The open-file limit may allow fewer.",
)
.within("16", "1000000");

static CONNECTIONS_PER_PEER: Key<u32> = Key::with_default(
    "connections_per_peer",
    "2048",
    "Open connections of one peer; more are answered 503. One peer can never use the last eighth of `connections`.",
)
.within("16", "1000000");

static HEAD_BYTES: Key<Size> = Key::with_default(
    "head_bytes",
    "16KiB",
    "The longest request head; a longer one is answered 431. A connection in a request holds a buffer of up to twice this size.",
)
.within("8KiB", "256KiB");

static HEAD_TIMEOUT: Key<Duration> = Key::with_default(
    "head_timeout",
    "10s",
    "How long a head may take; a slower one is answered 408. On a connection that was used before it may be up to twice as long.",
)
.within("1s", "1m");

static BODY_TIMEOUT: Key<Duration> = Key::with_default(
    "body_timeout",
    "30s",
    "How long a body may take; a slower one is answered 408.",
)
.within("1s", "10m");

static BODY_RATE_MIN: Key<Size> = Key::with_default(
    "body_rate_min",
    "1KiB",
    "Bytes a second that a body brings at least, measured over 5 s; a slower one is answered 408.",
)
.within("1B", "1MiB");

static UNPROVEN_BYTES: Key<Size> = Key::with_default(
    "unproven_bytes",
    "128MiB",
    "Memory for request bodies that are not verified yet; a body that does not fit is answered 503. Half is reserved for the sources in equal shares. The first 8 KiB of each body do not count.",
)
.within("1MiB", "64GiB");

static UNPROVEN_BYTES_PER_PEER: Key<Size> = Key::with_default(
    "unproven_bytes_per_peer",
    "64MiB",
    "The same, for the bodies of one peer.",
)
.within("1MiB", "64GiB");

static PROVEN_BYTES: Key<Size> = Key::with_default(
    "proven_bytes",
    "128MiB",
    "Bytes of verified bodies that wait to be stored; one that does not fit is answered 503.",
)
.within("1MiB", "64GiB");

static REFUSALS_PER_PEER: Key<Rate> = Key::with_default(
    "refusals_per_peer",
    "50/s",
    "Refusals of one peer that are answered at once. Answers to further refusals are delayed by up to 2 s and not logged; correctly signed requests are never delayed.",
);

pub(super) static LIMITS: Table = Table {
    header: "[server.limits]",
    help: "Limits at `listen` for requests that are not verified yet. A peer is an IPv4 address or an IPv6 /64. \
           `docs/guides/limits.md` says when to change what. A change needs a restart.",
    keys: &[
        &CONNECTIONS,
        &CONNECTIONS_PER_PEER,
        &HEAD_BYTES,
        &HEAD_TIMEOUT,
        &BODY_TIMEOUT,
        &BODY_RATE_MIN,
        &UNPROVEN_BYTES,
        &UNPROVEN_BYTES_PER_PEER,
        &PROVEN_BYTES,
        &REFUSALS_PER_PEER,
    ],
};

/// The limits on the ingest listener and on each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub listen: listen::Limits,
    pub ingest: ingest::Limits,
}

/// The limits of an empty file.
impl Default for Limits {
    fn default() -> Self {
        Section::of_nothing(&LIMITS, read)
    }
}

pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Limits {
    Limits {
        listen: listen::Limits {
            connections_max: section.get(&CONNECTIONS) as usize,
            peer_connections_max: section.get(&CONNECTIONS_PER_PEER) as usize,
            head_bytes_max: bytes(section, &HEAD_BYTES),
            head_timeout: section.get(&HEAD_TIMEOUT),
            keep_alive: KEEP_ALIVE.default_value(),
            drain: listen::DRAIN,
            linger: listen::Linger::default(),
        },
        ingest: ingest::Limits {
            body_timeout: section.get(&BODY_TIMEOUT),
            body_grace: ingest::BODY_GRACE,
            body_rate_min: bytes(section, &BODY_RATE_MIN) as u32,
            unproven_bytes_max: bytes(section, &UNPROVEN_BYTES),
            peer_unproven_bytes_max: bytes(section, &UNPROVEN_BYTES_PER_PEER),
            proven_bytes_max: bytes(section, &PROVEN_BYTES),
            peer_refusals: section.get(&REFUSALS_PER_PEER),
        },
    }
}

fn bytes(section: &mut Section<'_, '_, '_>, key: &'static Key<Size>) -> usize {
    usize::try_from(section.get(key).0).unwrap_or(usize::MAX)
}

impl Limits {
    /// The largest body that always fits when no other request is in flight.
    pub(super) fn body_bytes_max(&self) -> u64 {
        let ingest = &self.ingest;
        let room = (ingest.unproven_bytes_max / 2)
            .min(ingest.peer_unproven_bytes_max)
            .min(ingest.proven_bytes_max);
        room as u64
    }
}
