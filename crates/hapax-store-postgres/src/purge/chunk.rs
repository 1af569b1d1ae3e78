//! The task of a purge's transactions: which buckets, which sources, and how many rows.

use hapax_core::{SourceName, Timestamp};
use uuid::Uuid;

/// A set of buckets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slice {
    /// This bucket.
    Bucket(i16),
    /// Every bucket whose number modulo `of` is `rest`; they are all on one server.
    Every { of: i16, rest: i16 },
}

/// The task of both transactions.
pub(super) struct Chunk {
    pub(super) slice: Slice,
    pub(super) windows: Vec<Window>,
    /// Events to examine per source.
    pub(super) share: usize,
    /// Events to check again.
    pub(super) revisit: Vec<Seen>,
    pub(super) ledger_before: Timestamp,
    pub(super) ledger_from: i64,
    pub(super) ledger_max: u32,
    pub(super) bodies_from: i64,
    pub(super) bodies_max: u32,
}

/// A source's window.
pub(super) struct Window {
    pub(super) source: SourceName,
    pub(super) payload_before: Timestamp,
    pub(super) dead_before: Timestamp,
    /// Examine events after this position; `None`: no new ones.
    pub(super) from: Option<Position>,
    /// The end of the range to examine.
    pub(super) end: Timestamp,
}

/// An old event that must stay.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) source: SourceName,
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) received_at: i64,
}

/// Arrival time and id of the last event that was examined.
pub(super) type Position = (i64, Uuid);
