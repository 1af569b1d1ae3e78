//! Bodies that arrived under a known id. They are stored as conflicts or, if the source says so, accepted as separate
//! events: many in one write, and alongside the accepts, so a provider that changes its bodies on retries holds up no
//! one else.

use std::sync::Arc;

use hapax_core::ContentHash;
use hapax_core::store::{Claim, ConflictRecorded, ConflictingBody, Error};
use tokio::sync::mpsc;

use super::arrival::Came;
use super::cached::is_same;
use super::refuse::{RETRY_AFTER, refusal};
use super::settle::{Contested, Settled};
use crate::engine::Inner;
use crate::incoming::{Accepted, Refusal, Untaken};
use crate::observe::Observation;
use crate::requests::{AnswerSender, Prepared};
use crate::routing::OnConflict;

/// A request that cannot be answered until the store has been asked about some of its events.
pub(crate) struct Undecided {
    settled: Vec<Settled>,
    answer: AnswerSender,
}

/// The answer for one event.
enum Decision {
    Known(Result<Accepted, Untaken>),
    /// This answer, once its body is stored.
    OnceKept(Came, Accepted),
    /// The result of claiming it under a separate id.
    OnceClaimed,
}

/// Writes that the decisions about a batch still wait for.
#[derive(Default)]
struct Pending {
    other_bodies: Vec<ConflictingBody>,
    conflicts: Vec<Prepared>,
}

impl Undecided {
    pub(super) fn new(settled: Vec<Settled>, answer: AnswerSender) -> Self {
        Self { settled, answer }
    }

    /// Answers immediately if the store need not be asked; otherwise queues the request, if there is room.
    pub(super) fn answer_or_queue(self, conflicts: &mpsc::Sender<Self>) {
        let is_contested = |settled: &Settled| matches!(settled, Settled::Contested(_));
        if self.settled.iter().any(is_contested) {
            if let Err(full) = conflicts.try_send(self) {
                let refusal = Refusal::Overloaded {
                    retry_after: RETRY_AFTER,
                };
                let _ = full.into_inner().answer.send(Err(refusal.into()));
            }
            return;
        }
        let answers = self.settled.into_iter().filter_map(|settled| match settled {
            Settled::Answered(answer) => Some(Ok(answer)),
            Settled::OtherTarget => Some(Err(Untaken::OtherTarget)),
            Settled::Contested(_) => None,
        });
        // The provider may have hung up; accepted events stay accepted.
        let _ = self.answer.send(answers.collect());
    }
}

impl Inner {
    /// Decides all queued requests together, until no accept can queue more.
    pub(crate) async fn conflict_loop(self: Arc<Self>, mut queue: mpsc::Receiver<Undecided>) {
        let mut batch = Vec::new();
        while queue.recv_many(&mut batch, self.limits.accept_batch).await > 0 {
            self.decide_batch(std::mem::take(&mut batch)).await;
        }
    }

    async fn decide_batch(self: &Arc<Self>, batch: Vec<Undecided>) {
        let mut pending = Pending::default();
        let mut open = Vec::with_capacity(batch.len());
        for undecided in batch {
            let mut decisions = Vec::with_capacity(undecided.settled.len());
            for settled in undecided.settled {
                decisions.push(match settled {
                    Settled::Answered(answer) => Decision::Known(Ok(answer)),
                    Settled::OtherTarget => Decision::Known(Err(Untaken::OtherTarget)),
                    Settled::Contested(contested) => self.decide(*contested, &mut pending).await,
                });
            }
            open.push((decisions, undecided.answer));
        }
        let mut kept = self.keep_aside(pending.other_bodies).await.into_iter();
        let mut claimed = self.claim_conflicts(pending.conflicts).await.into_iter();
        for (decisions, answer) in open {
            let answers: Vec<_> = decisions
                .into_iter()
                .map(|decision| match decision {
                    Decision::Known(answer) => answer,
                    Decision::OnceKept(came, answer) => {
                        kept.next().unwrap_or_else(|| Err(unanswered()))?;
                        self.announce(&came.arrival(), &answer);
                        Ok(answer)
                    }
                    Decision::OnceClaimed => claimed.next().unwrap_or_else(|| Err(unanswered())),
                })
                .collect();
            // The provider may have hung up; stored bodies stay stored.
            let _ = answer.send(answers.into_iter().collect());
        }
    }

    /// Decides about an event with a known id. A different body is added to those to store or claim.
    async fn decide(&self, contested: Contested, pending: &mut Pending) -> Decision {
        let Contested { event, entry, source } = contested;
        let own = event.content_hash.as_ref();
        match self.is_for_another_target(&entry, own).await {
            Ok(false) => {}
            Ok(true) => return Decision::Known(Err(Untaken::OtherTarget)),
            Err(error) => {
                let during = "comparing targets";
                self.observe(&Observation::StoreFailed {
                    during,
                    error: &error,
                });
                return Decision::Known(Err(refusal(&error).into()));
            }
        }
        let first = (entry.raw_hash, entry.content_hash.as_ref());
        if is_same(first, (event.raw_hash, own)) {
            return Decision::Known(Ok(self.duplicate(event, &entry)));
        }
        // A body that another rule hashed, before an upgrade, may be this very event: do not accept it again.
        if source.route.on_conflict == OnConflict::Accept && rule_of(first.1) == rule_of(own) {
            pending.conflicts.push(self.prepare_conflict(source, event));
            return Decision::OnceClaimed;
        }
        let came = Came::of(&event);
        pending.other_bodies.push(ConflictingBody {
            key: event.key,
            first: entry.id,
            source: event.source,
            raw_hash: event.raw_hash,
            received_at: event.received_at,
            headers: event.headers,
            body: event.body,
        });
        let event_id = event.identity.event_id;
        Decision::OnceKept(
            came,
            Accepted::Conflict {
                id: entry.id,
                event_id,
            },
        )
    }

    /// Claims events under separate ids. Returns the answer for each, in order.
    async fn claim_conflicts(self: &Arc<Self>, events: Vec<Prepared>) -> Vec<Result<Accepted, Untaken>> {
        if events.is_empty() {
            return Vec::new();
        }
        // One request per event, so an event that cannot be stored fails alone.
        let requests = events.iter().map(|prepared| vec![prepared.event.clone()]);
        let claimed = self.claim(requests.collect()).await;
        let settle = |(prepared, result): (Prepared, Result<Vec<Claim>, Refusal>)| {
            let settled = self.settle(vec![prepared], result?, claimed.asked, claimed.epoch);
            match settled.into_iter().next() {
                Some(Settled::Answered(answer)) => Ok(answer),
                // The id contains the content hash, so an event with this id is the same event.
                Some(Settled::Contested(contested)) => {
                    let Contested { event, entry, .. } = *contested;
                    Ok(self.duplicate(event, &entry))
                }
                Some(Settled::OtherTarget) => Err(Untaken::OtherTarget),
                None => Err(unanswered()),
            }
        };
        events.into_iter().zip(claimed.results).map(settle).collect()
    }

    /// Stores bodies as conflicts. Returns for each, in order, whether it may be acknowledged.
    async fn keep_aside(&self, other_bodies: Vec<ConflictingBody>) -> Vec<Result<ConflictRecorded, Untaken>> {
        if other_bodies.is_empty() {
            return Vec::new();
        }
        let mut told = String::new();
        let kept = self.parts.store.record_conflicts(other_bodies).await.into_iter();
        kept.map(|kept| {
            kept.map_err(|error| {
                // Log the same failure once for all of them.
                let said = error.to_string();
                if said != told {
                    self.observe(&Observation::StoreFailed {
                        during: "storing a conflicting body",
                        error: &error,
                    });
                    told = said;
                }
                refusal(&error).into()
            })
        })
        .collect()
    }
}

fn rule_of(content: Option<&ContentHash>) -> Option<&str> {
    content.map(|content| content.rule.as_str())
}

fn unanswered() -> Untaken {
    let error = Error::Unavailable {
        message: "the store returned no result for a conflicting body".to_owned(),
        source: None,
    };
    refusal(&error).into()
}
