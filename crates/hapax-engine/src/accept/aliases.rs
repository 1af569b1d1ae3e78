//! Events whose content may be known under another id: the id that an earlier version of the source's rule gave them
//! or, if the source accepts conflicts, the id made of their own id and their content.
//!
//! Ledger lookups run alongside the accepts. An event that the ledger knows is claimed under the id found there; only
//! the claim decides whether it is a duplicate. Events without another possible id skip this step.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hapax_core::store::{Error, LedgerEntry};
use hapax_core::{IdOrigin, Identity};
use tokio::sync::mpsc;

use super::cached::is_same;
use super::refuse::{no_room, refusal};
use crate::engine::Inner;
use crate::observe::Observation;
use crate::plan::Source;
use crate::requests::{Aliased, Keyed, Waiting};
use crate::routing::OnConflict;

/// Requests looked up concurrently. The limit leaves capacity in the store for accepts.
const REQUESTS_MAX: usize = 16;
/// Events of one request looked up concurrently.
const EVENTS_MAX: usize = 4;

impl Source {
    /// Other identities under which the content of an arrival may be known.
    pub(super) fn aliases(&self, keyed: &Keyed) -> Vec<Identity> {
        let content = || {
            let content = keyed.incoming.content_hash.as_ref();
            content.map_or_else(|| keyed.raw_hash(), |content| content.hash)
        };
        let of_conflict = |identity: &Identity| {
            let accepts = self.route.on_conflict == OnConflict::Accept;
            (accepts && IdOrigin::of(&identity.event_id) == IdOrigin::Provider)
                .then(|| identity.of_conflict(&content()))
        };
        let earlier = keyed.incoming.earlier_id.as_ref();
        let earlier = earlier.map(|event_id| Identity::new(self.route.scope.clone(), event_id));
        let earlier_conflict = earlier.as_ref().and_then(of_conflict);
        let aliases = [of_conflict(&keyed.identity), earlier, earlier_conflict];
        aliases.into_iter().flatten().collect()
    }
}

impl Inner {
    /// Looks up queued requests, several at a time, until the engine stops accepting.
    pub(crate) async fn alias_loop(self: Arc<Self>, mut queue: mpsc::Receiver<Aliased>) {
        let waiting = stream::poll_fn(|context| queue.poll_recv(context));
        let waiting = waiting.take_until(self.shut_door.cancelled());
        waiting
            .for_each_concurrent(REQUESTS_MAX, |request| self.look_up(request))
            .await;
    }

    /// Queues a request for the ledger lookup, or refuses it if the queue is full.
    pub(super) fn queue_look_up(&self, request: Aliased) {
        if let Err(error) = self.alias_queue.try_send(request) {
            let refusal = no_room(&error);
            let _ = error.into_inner().answer.send(Err(refusal.into()));
        }
    }

    async fn look_up(&self, request: Aliased) {
        let Aliased {
            source,
            arrivals,
            answer,
        } = request;
        let resolving = stream::iter(arrivals).map(|keyed| self.resolve(keyed));
        let resolved: Result<Vec<Keyed>, Error> = resolving.buffered(EVENTS_MAX).try_collect().await;
        match resolved {
            Ok(arrivals) => {
                let now = self.elapsed();
                let arrivals = arrivals.into_iter();
                let events = arrivals.map(|keyed| self.prepare(&source, keyed, now)).collect();
                self.queue(Waiting { events, answer });
            }
            Err(error) => {
                let during = "looking up other ids of an event";
                self.observe(&Observation::StoreFailed {
                    during,
                    error: &error,
                });
                let _ = answer.send(Err(refusal(&error).into()));
            }
        }
    }

    /// The event, under the identity by which its content is known, if any.
    async fn resolve(&self, mut keyed: Keyed) -> Result<Keyed, Error> {
        for alias in std::mem::take(&mut keyed.aliases) {
            let entry = self.parts.store.look_up(&alias).await?;
            let is_known = |entry: &LedgerEntry| {
                let first = (entry.raw_hash, entry.content_hash.as_ref());
                is_same(first, keyed.hashes())
            };
            if entry.as_ref().is_some_and(is_known) {
                keyed.key = alias.key();
                keyed.identity = alias;
                break;
            }
        }
        Ok(keyed)
    }
}
