//! Requests in the queues of accept, and their events at each step.

use std::cell::OnceCell;
use std::sync::Arc;

use hapax_core::{BodyHash, ContentHash, EventId, Identity, Key, NewEvent, is_set_aside};
use tokio::sync::oneshot;

use crate::destination_runtime::Reserved;
use crate::incoming::{Accepted, IncomingEvent, Untaken};
use crate::plan::Source;

/// An arrival with its key and hash, each computed once.
pub(crate) struct Keyed {
    pub(crate) incoming: IncomingEvent,
    pub(crate) identity: Identity,
    pub(crate) key: Key,
    /// Empty until it is needed: most duplicates are recognised by their content hash alone.
    raw_hash: OnceCell<BodyHash>,
    /// Other identities under which its content may be known.
    pub(crate) aliases: Vec<Identity>,
}

impl Keyed {
    pub(crate) fn new(incoming: IncomingEvent, identity: Identity) -> Self {
        Self {
            incoming,
            key: identity.key(),
            identity,
            raw_hash: OnceCell::new(),
            aliases: Vec::new(),
        }
    }

    /// Spares the computation of the hash.
    pub(crate) fn know_raw_hash(&self, raw_hash: BodyHash) {
        debug_assert_eq!(raw_hash, BodyHash::of(&self.incoming.body));
        // It may have been computed already.
        let _ = self.raw_hash.set(raw_hash);
    }

    /// SHA-256 of the raw bytes.
    pub(crate) fn raw_hash(&self) -> BodyHash {
        *self.raw_hash.get_or_init(|| BodyHash::of(&self.incoming.body))
    }

    pub(crate) fn hashes(&self) -> Hashes<'_> {
        (self.raw_hash(), self.incoming.content_hash.as_ref())
    }
}

/// The hashes of a body: of its raw bytes, and of the content that stays the same on a retry.
pub(crate) type Hashes<'a> = (BodyHash, Option<&'a ContentHash>);

/// An event to be written, with permits for the deliveries that start immediately.
pub(crate) struct Prepared {
    pub(crate) event: NewEvent,
    pub(crate) source: Arc<Source>,
    pub(crate) permits: Vec<Option<Reserved>>,
}

impl Prepared {
    /// The answer for a new event.
    pub(crate) fn new_as(&self, id: EventId) -> Accepted {
        let event_id = self.event.identity.event_id.clone();
        if self.event.deliveries.is_empty() && is_set_aside(&event_id) {
            Accepted::Quarantined { id, event_id }
        } else {
            Accepted::New { id, event_id }
        }
    }
}

/// A request that waits for the ledger lookup.
pub(crate) struct Aliased {
    pub(crate) source: Arc<Source>,
    pub(crate) arrivals: Vec<Keyed>,
    pub(crate) answer: AnswerSender,
}

/// Where the answer to a request goes.
pub(crate) type AnswerSender = oneshot::Sender<Result<Vec<Accepted>, Untaken>>;

/// A request that waits to be written.
pub(crate) struct Waiting {
    pub(crate) events: Vec<Prepared>,
    pub(crate) answer: AnswerSender,
}
