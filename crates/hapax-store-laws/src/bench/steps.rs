//! Steps that laws take often. Each panics if the store returns an error.

use std::sync::atomic::Ordering;
use std::time::Duration;

use hapax_core::delivery::Hold;
use hapax_core::store::{
    AcceptRequest, AliveReport, Candidates, Claim, ConflictRecorded, ConflictingBody, Patience, ReplayMode,
    ReplayOrder, Replayed, Report, Rescued, Written,
};
use hapax_core::{Attempt, AttemptOutcome, ErrorClass, EventId, Leased, Owner, Timestamp};

use super::{ALL, Bench, Draft, LONG, Must, dead, order};
use crate::clock::START;

impl Bench {
    /// Accepts one event in its own request.
    pub async fn accept(&self, draft: Draft) -> Claim {
        self.accept_together(vec![draft]).await.remove(0)
    }

    /// Accepts several events in one request.
    pub async fn accept_together(&self, drafts: Vec<Draft>) -> Vec<Claim> {
        let events: Vec<_> = drafts.into_iter().map(Draft::build).collect();
        let asked = events.len();
        let mut answers = self.store.accept(vec![AcceptRequest { events }]).await;
        assert_eq!(answers.len(), 1, "one answer for each request");
        let claims = answers.remove(0).must();
        assert_eq!(claims.len(), asked, "one claim for each event");
        claims
    }

    /// Accepts an event that must be new. Returns its id.
    pub async fn stored(&self, draft: Draft) -> EventId {
        let event = draft.build();
        let id = event.id;
        let claim = self.accept(Draft::from(event)).await;
        assert!(
            matches!(claim, Claim::New { .. }),
            "expected a new event, got {claim:?}"
        );
        id
    }

    /// Stores conflicts: other bodies under known identities.
    pub async fn record_conflicts(&self, other_bodies: Vec<ConflictingBody>) -> Vec<ConflictRecorded> {
        let answers = self.store.record_conflicts(other_bodies).await;
        answers.into_iter().map(Must::must).collect()
    }

    /// Leases one fresh delivery for a long time.
    pub async fn lease(&self, destination: &str) -> Option<Leased> {
        let mut leased = self.lease_many(destination, 1).await;
        assert!(leased.len() <= 1, "the limit of a lease is respected");
        leased.pop()
    }

    /// Leases fresh deliveries for a long time.
    pub async fn lease_many(&self, destination: &str, limit: u32) -> Vec<Leased> {
        self.lease_as(destination, limit, LONG, Candidates::Fresh).await
    }

    /// Leases deliveries, fresh or suspect.
    pub async fn lease_as(
        &self,
        destination: &str,
        limit: u32,
        lease_for: Duration,
        candidates: Candidates,
    ) -> Vec<Leased> {
        let order = order(destination, limit, lease_for, candidates);
        self.store.lease(order).await.must().leased
    }

    /// Leases one delivery, fresh or suspect, until [`Bench::expire`].
    pub async fn lease_briefly(&self, destination: &str) -> Leased {
        for candidates in [Candidates::Fresh, Candidates::Suspect] {
            if let Some(leased) = self
                .lease_as(destination, 1, self.short(), candidates)
                .await
                .pop()
            {
                return leased;
            }
        }
        panic!("nothing is due at {destination}");
    }

    /// Finishes an attempt.
    pub async fn finish(&self, hold: &Hold, outcome: AttemptOutcome) -> Written {
        let report = self.report(hold, outcome);
        let mut written = self.store.finish(vec![report]).await.must();
        assert_eq!(written.len(), 1, "one answer for each report");
        written.remove(0)
    }

    /// A report with an attempt that fits the outcome, begun after all attempts before it.
    pub fn report(&self, hold: &Hold, outcome: AttemptOutcome) -> Report {
        let (status, error) = match outcome {
            AttemptOutcome::Completed | AttemptOutcome::Release => (Some(200), None),
            AttemptOutcome::Retry { .. } => (Some(500), Some(ErrorClass::Status)),
            AttemptOutcome::Dead { reason } => (None, Some(reason)),
        };
        let number = self.attempts.fetch_add(1, Ordering::Relaxed);
        let attempt = Attempt {
            started_at: Timestamp::from_micros(START.as_micros() + number * 1_000_000),
            duration_ms: 12,
            status,
            excerpt: format!("answer number {number}"),
            error,
            message: error.map(|class| format!("it failed: {class}")),
        };
        Report {
            hold: hold.clone(),
            attempt: (outcome != AttemptOutcome::Release).then_some(attempt),
            outcome,
        }
    }

    /// Finishes an attempt whose lease must still be held.
    pub async fn finished(&self, leased: &Leased, outcome: AttemptOutcome) {
        assert_eq!(self.finish(&leased.hold(), outcome).await, Written::Applied);
    }

    /// Leases the next due delivery at `destination` and finishes it.
    pub async fn run(&self, destination: &str, outcome: AttemptOutcome) -> EventId {
        let leased = self.lease(destination).await.must();
        self.finished(&leased, outcome).await;
        leased.event.id
    }

    /// Stores an event for `destination` and completes it.
    pub async fn completed(&self, event_id: &str, destination: &str) -> EventId {
        let id = self.stored(self.event(event_id).to(destination)).await;
        assert_eq!(self.run(destination, AttemptOutcome::Completed).await, id);
        id
    }

    /// Stores an event for `destination` and ends it as dead.
    pub async fn dead(&self, event_id: &str, destination: &str) -> EventId {
        let id = self.stored(self.event(event_id).to(destination)).await;
        assert_eq!(self.run(destination, dead()).await, id);
        id
    }

    /// Extends one lease.
    pub async fn extend(&self, hold: &Hold, lease_for: Duration) -> Written {
        let mut written = self.store.extend(vec![hold.clone()], lease_for).await.must();
        assert_eq!(written.len(), 1, "one answer for each hold");
        written.remove(0)
    }

    /// Takes back every expired lease.
    pub async fn rescue(&self) -> Vec<Rescued> {
        self.store.rescue(ALL).await.must()
    }

    /// Reports to every shard that an owner is alive. Returns what was taken back from dead owners, at most `limit` per
    /// shard.
    pub async fn report_alive(&self, owner: Owner, patience: Patience, limit: u32) -> Vec<Rescued> {
        let mut rescued = Vec::new();
        for shard in 0..self.store.shards() {
            let report = AliveReport {
                owner,
                shard,
                patience,
                limit,
            };
            rescued.extend(self.store.report_alive(report).await.must());
        }
        rescued
    }

    /// Replays all matching deliveries of one event.
    pub async fn replay(&self, event: EventId, mode: ReplayMode) -> Replayed {
        self.replay_order(ReplayOrder {
            event,
            mode,
            to: None,
            job: None,
        })
        .await
    }

    /// Replays one event.
    pub async fn replay_order(&self, order: ReplayOrder) -> Replayed {
        let mut replayed = self.store.replay(vec![order]).await.must();
        assert_eq!(replayed.len(), 1, "one answer for each order");
        replayed.remove(0)
    }
}
