//! Accepts an event for one destination, named by the caller, instead of routing it by its source.
//!
//! One id may have an event for each target. The first keeps the id unchanged; an event for another target gets an id
//! made of both. The ledger stores the target with the id, so the target is known for as long as the id is.

use hapax_core::store::{Error, LedgerEntry};
use hapax_core::{BodyHash, ContentHash, DestinationId, EVENT_ID_BYTES_MAX, Headers};

use super::refuse::RETRY_AFTER;
use crate::engine::{Engine, Inner};
use crate::incoming::{Accepted, IncomingEvent, Refusal, Untaken};

/// The event header that names an address at the destination, for a destination with several addresses.
pub const ADDRESS_HEADER: &str = "hapax-outbox-target";
/// The rule that marks a hash in the ledger as the hash of a target, not of content.
const TARGET_RULE: &str = "target";
/// Hexadecimal digits of a target in an id.
const TARGET_DIGITS: usize = 16;

/// An event and the destination it is meant for.
#[derive(Clone, Debug)]
pub struct DirectedEvent {
    /// The event. Its source's route must include the destination. [`ADDRESS_HEADER`] is part of the target.
    pub incoming: IncomingEvent,
    /// The only destination that gets it.
    pub to: DestinationId,
    /// Events with the same key and destination run one at a time, in the order of acceptance.
    pub order_key: Option<String>,
}

impl Engine {
    /// Accepts one event for one destination. Answers only when it is durable. The same id for another target is
    /// another event.
    ///
    /// # Errors
    /// A [`Refusal`]: nothing is promised, and the caller must retry.
    pub async fn accept_for(&self, mut directed_event: DirectedEvent) -> Result<Accepted, Refusal> {
        let target = target(&directed_event.to, &directed_event.incoming.headers);
        directed_event.incoming.content_hash = Some(ContentHash {
            rule: TARGET_RULE.to_owned(),
            hash: target,
        });
        match self.take_for(directed_event.clone()).await {
            Err(Untaken::OtherTarget) => {
                directed_event.incoming.event_id = id_for(&directed_event.incoming.event_id, &target);
                self.take_for(directed_event).await.map_err(Refusal::from)
            }
            answer => answer.map_err(Refusal::from),
        }
    }

    async fn take_for(&self, directed_event: DirectedEvent) -> Result<Accepted, Untaken> {
        let DirectedEvent {
            incoming,
            to,
            order_key,
        } = directed_event;
        let inner = &self.0;
        let shutting_down = || Refusal::ShuttingDown {
            retry_after: RETRY_AFTER,
        };
        if inner.is_stopping() {
            return Err(shutting_down().into());
        }
        let now = inner.elapsed();
        let plan = inner.plan.load();
        let source = plan.sources.get(&incoming.source).ok_or(Refusal::UnknownSource)?;
        let runtime = source.destinations.iter().find(|runtime| runtime.id() == to);
        let runtime = runtime.ok_or_else(|| Refusal::Rejected {
            message: format!("`{to}` is not a configured destination"),
        })?;
        let mut keyed = source.keyed(incoming);
        let mut answers = inner.answer_from_cache(std::slice::from_mut(&mut keyed), None, now);
        if answers.is_none() {
            let event = inner.prepare_for(source, keyed, runtime, order_key, now);
            drop(plan);
            answers = Some(self.write(vec![event]).await?);
        }
        let answer = answers.into_iter().flatten().next();
        answer.ok_or_else(|| shutting_down().into())
    }
}

/// How the target recorded for an id compares with this event's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The same target, or targets do not matter.
    Same,
    Other,
    /// The event was accepted before the ledger recorded targets.
    Unknown,
}

/// Whether an id belongs to the target of this event.
pub(super) fn compare_targets(first: &LedgerEntry, own: Option<&ContentHash>) -> Target {
    let Some(own) = own.filter(|own| is_target(own)) else {
        return Target::Same;
    };
    match first.content_hash.as_ref().filter(|known| is_target(known)) {
        Some(known) if known.hash == own.hash => Target::Same,
        Some(_) => Target::Other,
        None => Target::Unknown,
    }
}

impl Inner {
    /// Whether an id belongs to another target. If the ledger does not know, the event is looked up; if that is gone
    /// too, the target counts as the same: better not sent than sent twice.
    pub(super) async fn is_for_another_target(
        &self,
        first: &LedgerEntry,
        own: Option<&ContentHash>,
    ) -> Result<bool, Error> {
        match (compare_targets(first, own), own) {
            (Target::Same, _) | (_, None) => Ok(false),
            (Target::Other, _) => Ok(true),
            (Target::Unknown, Some(own)) => {
                let Some(record) = self.parts.store.get(first.id).await? else {
                    return Ok(false);
                };
                let headers = &record.event.headers;
                let is_own = |to: &DestinationId| target(to, headers) == own.hash;
                let mut destinations = record.deliveries.iter().map(|delivery| &delivery.destination);
                Ok(!record.deliveries.is_empty() && !destinations.any(is_own))
            }
        }
    }
}

/// Whether a hash in the ledger is the hash of a target.
pub(super) fn is_target(hash: &ContentHash) -> bool {
    hash.rule == TARGET_RULE
}

fn target(to: &DestinationId, headers: &Headers) -> BodyHash {
    let address = headers.get(ADDRESS_HEADER).unwrap_or_default();
    // Destination ids contain no line breaks.
    BodyHash::of(&[to.as_str().as_bytes(), b"\n", address].concat())
}

/// The id of an event whose own id belongs to another target: a composite of both, like any id made of several parts.
fn id_for(event_id: &str, target: &BodyHash) -> String {
    // Not with `percent-encoding`, which would encode non-ASCII characters as well: ids in stores must stay the same.
    let own = event_id.replace('%', "%25").replace(':', "%3A");
    let to = target.to_string();
    let id = format!("{own}:to-{}", &to[..TARGET_DIGITS]);
    if id.len() <= EVENT_ID_BYTES_MAX {
        id
    } else {
        format!("sha256:{}", BodyHash::of(id.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_for_another_target_is_bounded_and_its_parts_cannot_run_into_each_other() {
        let (one, other) = (BodyHash::of(b"one"), BodyHash::of(b"other"));
        assert_eq!(id_for("k", &one), "k:to-7692c3ad3540bb80");
        assert_ne!(id_for("k", &one), id_for("k", &other));
        assert_ne!(
            id_for(&id_for("k", &one), &other),
            id_for(&id_for("k", &other), &one)
        );
        assert!(id_for(&"x".repeat(255), &one).len() <= EVENT_ID_BYTES_MAX);
        assert_ne!(id_for(&"x".repeat(255), &one), id_for(&"x".repeat(254), &one));
    }
}
