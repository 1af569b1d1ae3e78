//! The bench a law works on: one store, its clock, and short ways to say common steps.

mod draft;
mod must;

use std::sync::Arc;
use std::time::Duration;

use hapax_core::delivery::Hold;
use hapax_core::store::{
    AcceptRequest, Candidates, Claim, EventQuery, EventRecord, EventSummary, LeaseOrder, ReplayMode,
    ReplayOrder, Replayed, Report, Rescued, Written,
};
use hapax_core::store::{DeliveryView, LedgerEntry, PurgeOrder, Purged};
use hapax_core::{
    Attempt, Backend, ErrorClass, EventId, EventIds, Identity, Leased, Owner, SystemRandom, Timestamp, Verdict,
};

use crate::Subject;

pub use draft::Draft;
pub use must::Must;

/// A lease that does not end while a law runs.
pub const LONG: Duration = Duration::from_secs(3600);
/// More than any law stores.
pub const ALL: u32 = 1000;

/// One store under test. Every step panics where the store answers with an error.
pub struct Bench {
    /// The store.
    pub store: Arc<dyn Backend>,
    subject: Arc<dyn Subject>,
    ids: EventIds,
    random: SystemRandom,
}

impl Bench {
    /// A bench with a fresh store.
    pub async fn open(subject: Arc<dyn Subject>) -> Self {
        Self {
            store: subject.fresh().await,
            subject,
            ids: EventIds::default(),
            random: SystemRandom::new(),
        }
    }

    /// Crashes the store and starts it again. The law must hold no reference to the old one.
    pub async fn reopen(&mut self) {
        // The placeholder lets go of the bench's own reference before the store restarts.
        let crashed = std::mem::replace(&mut self.store, crate::model::placeholder());
        self.store = self.subject.reopen(crashed).await;
    }

    /// What the store's clock says.
    pub async fn now(&self) -> Timestamp {
        self.subject.now().await
    }

    /// Lets time pass on the store's clock.
    pub async fn pass(&self, duration: Duration) {
        self.subject.pass(duration).await;
    }

    /// Enough time for two steps to have different times.
    pub async fn tick(&self) {
        self.pass(Duration::from_millis(2)).await;
    }

    /// A lease that [`Bench::expire`] waits out.
    pub fn short(&self) -> Duration {
        self.subject.short_lease()
    }

    /// Lets every short lease end.
    pub async fn expire(&self) {
        self.pass(self.short() + Duration::from_millis(50)).await;
    }

    /// An event of the source and scope `shop`, without deliveries.
    pub fn event(&self, event_id: &str) -> Draft {
        Draft::new(&self.ids, &self.random, Identity::new("shop", event_id))
    }

    /// An event of another scope.
    pub fn event_in(&self, scope: &str, event_id: &str) -> Draft {
        Draft::new(&self.ids, &self.random, Identity::new(scope, event_id))
    }

    /// A fresh id of ours, for jobs and requests.
    pub fn id(&self) -> EventId {
        self.event("an id and nothing else").build().id
    }

    /// Accepts one event in a request of its own.
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

    /// Accepts an event that must be new; its id.
    pub async fn stored(&self, draft: Draft) -> EventId {
        let event = draft.build();
        let id = event.id;
        let claim = self.accept(Draft::from(event)).await;
        assert!(matches!(claim, Claim::New { .. }), "expected a new event, got {claim:?}");
        id
    }

    /// Leases one fresh delivery for a long time.
    pub async fn lease(&self, destination: &str) -> Option<Leased> {
        let mut leased = self.lease_many(destination, 1).await;
        assert!(leased.len() <= 1, "the limit of a lease is kept");
        leased.pop()
    }

    /// Leases fresh deliveries for a long time.
    pub async fn lease_many(&self, destination: &str, limit: u32) -> Vec<Leased> {
        self.lease_as(destination, limit, LONG, Candidates::Fresh).await
    }

    /// Leases, fresh or suspect.
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
            if let Some(leased) = self.lease_as(destination, 1, self.short(), candidates).await.pop() {
                return leased;
            }
        }
        panic!("nothing is due at {destination}");
    }

    /// Finishes an attempt.
    pub async fn finish(&self, hold: &Hold, verdict: Verdict) -> Written {
        let attempt = match verdict {
            Verdict::Completed => Some(attempt(Some(200), None)),
            Verdict::Retry { .. } => Some(attempt(Some(500), Some(ErrorClass::Status))),
            Verdict::Dead { reason } => Some(attempt(None, Some(reason))),
            Verdict::Release => None,
        };
        let report = Report {
            hold: hold.clone(),
            attempt,
            verdict,
        };
        let mut written = self.store.finish(vec![report]).await.must();
        assert_eq!(written.len(), 1, "one answer for each report");
        written.remove(0)
    }

    /// Finishes an attempt whose lease must still hold.
    pub async fn finished(&self, leased: &Leased, verdict: Verdict) {
        assert_eq!(self.finish(&leased.hold(), verdict).await, Written::Applied);
    }

    /// Leases whatever is due next at `destination` and finishes it.
    pub async fn run(&self, destination: &str, verdict: Verdict) -> EventId {
        let leased = self.lease(destination).await.must();
        self.finished(&leased, verdict).await;
        leased.event.id
    }

    /// Stores an event for `destination` and completes it.
    pub async fn completed(&self, event_id: &str, destination: &str) -> EventId {
        let id = self.stored(self.event(event_id).to(destination)).await;
        assert_eq!(self.run(destination, Verdict::Completed).await, id);
        id
    }

    /// Stores an event for `destination` and gives it up.
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

    /// Replays all fitting deliveries of one event.
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

    /// What the ledger knows of an id in the scope `shop`.
    pub async fn look_up(&self, event_id: &str) -> Option<LedgerEntry> {
        self.store.look_up(&Identity::new("shop", event_id)).await.must()
    }

    /// An event that must be there.
    pub async fn record(&self, id: EventId) -> EventRecord {
        self.store.get(id).await.must().must()
    }

    /// A delivery that must be there.
    pub async fn delivery(&self, id: EventId, destination: &str) -> DeliveryView {
        let found = self.record(id).await.deliveries;
        let mut fitting: Vec<_> = found
            .into_iter()
            .filter(|view| view.destination.as_str() == destination)
            .collect();
        assert_eq!(fitting.len(), 1, "one delivery of {id} to {destination}");
        fitting.remove(0)
    }

    /// Every event that fits, over all pages.
    pub async fn list(&self, query: &EventQuery, page: u32) -> Vec<EventSummary> {
        let mut events = Vec::new();
        let mut after = None;
        loop {
            let found = self.store.list(query, after, page).await.must();
            events.extend(found.events);
            after = found.next;
            if after.is_none() {
                return events;
            }
        }
    }

    /// Purges until nothing more goes; the sums.
    pub async fn purge(&self, order: &PurgeOrder) -> Purged {
        let mut sum = Purged::default();
        loop {
            let purged = self.store.purge(order.clone()).await.must();
            sum.events += purged.events;
            sum.ledger += purged.ledger;
            if !purged.more {
                return sum;
            }
        }
    }
}

/// A request for work.
pub fn order(destination: &str, limit: u32, lease_for: Duration, candidates: Candidates) -> LeaseOrder {
    LeaseOrder {
        owner: Owner(7),
        destination: destination.into(),
        limit,
        lease_for,
        candidates,
    }
}

/// An attempt to be kept.
pub fn attempt(status: Option<i32>, error: Option<ErrorClass>) -> Attempt {
    Attempt {
        started_at: crate::clock::START,
        duration_ms: 12,
        status,
        excerpt: "the answer began like this".to_owned(),
        error,
        message: error.map(|class| format!("it failed: {class}")),
    }
}

/// Give up.
pub fn dead() -> Verdict {
    Verdict::Dead {
        reason: ErrorClass::Refused,
    }
}

/// Try again at once.
pub fn again() -> Verdict {
    Verdict::Retry { after: Duration::ZERO }
}
