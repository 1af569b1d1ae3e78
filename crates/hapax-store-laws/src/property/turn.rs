//! Turns: each step, taken by the store and by the model, with the answers compared.

use std::time::Duration;

use hapax_core::store::{AcceptRequest, Candidates, Claim, Rescued};
use hapax_core::{AttemptOutcome, Hold, NewEvent, OnDead, Operations, Store};
use proptest::sample::Index;

use super::driver::{Driver, identity};
use super::picture;
use super::step::{DraftEvent, End, Route, Step};
use crate::bench::{ALL, LONG, Must, dead, order};

/// Only this many of the latest holds are used, except when the store restarts.
const HOLDS_RECENT: usize = 6;

impl Driver {
    /// Takes one step on both sides.
    pub(super) async fn take(&mut self, step: &Step) {
        self.next_turn().await;
        match step {
            Step::Accept(arrivals) => self.accept(arrivals).await,
            Step::Lease { destination, limit } => {
                for candidates in [Candidates::Fresh, Candidates::Suspect] {
                    self.lease(destination, *limit, candidates).await;
                }
            }
            Step::Finish { hold, end } => self.finish(*hold, *end).await,
            Step::Extend { hold } => {
                if let Some((ours, models)) = self.some_hold(*hold) {
                    self.extend(ours, models, LONG).await;
                }
            }
            Step::Expire => self.expire().await,
            Step::Replay { event, mode, reach } => self.replay(*event, *mode, *reach).await,
            Step::Forget { identity: number } => {
                let found = self.bench.store.forget(&identity(*number)).await.must();
                assert_eq!(found, self.model.forget(&identity(*number)).await.must());
            }
            Step::Dispose {
                event,
                destination,
                disposal,
            } => self.dispose(*event, destination, *disposal).await,
            Step::Erase { event, unfinished } => self.erase(*event, *unfinished).await,
            Step::Purge {
                payload,
                dead,
                ledger,
                limit,
            } => self.purge(*payload, *dead, *ledger, *limit).await,
            Step::Pause { destination } => self.pause(destination).await,
            Step::Resume { destination } => {
                let found = self.bench.store.resume(&(*destination).into()).await.must();
                assert_eq!(found, self.model.resume(&(*destination).into()).await.must());
            }
            Step::RecordConflict { event, body } => self.record_conflicts(*event, *body).await,
            Step::NoteDuplicates { event } => self.note_duplicates(*event).await,
            Step::Reopen => self.reopen().await,
        }
        self.compare_now_and_then().await;
    }

    async fn accept(&mut self, arrivals: &[DraftEvent]) {
        let mut events: Vec<NewEvent> = Vec::new();
        let mut numbers = Vec::new();
        for arrival in arrivals {
            // Which of two duplicates in one request is the first is the store's choice.
            if !numbers.contains(&arrival.identity) {
                numbers.push(arrival.identity);
                events.push(self.arrive(arrival));
            }
        }
        let request = vec![AcceptRequest {
            events: events.clone(),
        }];
        let found = self.bench.store.accept(request.clone()).await.remove(0).must();
        let expected = self.model.accept(request).await.remove(0).must();
        for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(picture::of_claim(found), picture::of_claim(expected));
            self.remember(&events[place], numbers[place], found, expected);
        }
    }

    fn arrive(&self, arrival: &DraftEvent) -> NewEvent {
        let identity = identity(arrival.identity);
        let draft = self.bench.event_in(identity.scope.as_str(), &identity.event_id);
        let draft = draft.body(vec![arrival.body]);
        let draft = match arrival.route {
            Route::Nowhere => draft,
            Route::Free => draft.to("free"),
            Route::Both => draft.to("free").to("other"),
            Route::Handed => draft.handed_to("free", self.bench.short()).to("other"),
            Route::Held => draft.in_lane("ordered", arrival.lane, OnDead::Hold),
            Route::Skipped => draft.in_lane("ordered", arrival.lane, OnDead::Skip),
            Route::HeldAndFree => draft.to("free").in_lane("ordered", arrival.lane, OnDead::Hold),
        };
        draft.build()
    }

    fn remember(&mut self, event: &NewEvent, number: usize, found: &Claim, expected: &Claim) {
        let (Claim::New { tokens, .. }, Claim::New { tokens: models, .. }) = (found, expected) else {
            return;
        };
        self.events.push((event.id, number));
        for ((delivery, ours), models) in event.deliveries.iter().zip(tokens).zip(models) {
            if let (Some(ours), Some(models)) = (ours, models) {
                let hold = |token| Hold {
                    event: event.id,
                    destination: delivery.destination.clone(),
                    token,
                };
                self.holds.push((hold(ours.token), hold(models.token)));
            }
        }
    }

    async fn lease(&mut self, destination: &str, limit: u32, candidates: Candidates) {
        let limit = self.clean_limit(destination, limit, candidates).await;
        let order = order(destination, limit, self.bench.short(), candidates);
        let mut found = self.bench.store.lease(order.clone()).await.must();
        let mut expected = self.model.lease(order).await.must();
        found.leased.sort_by_key(|leased| leased.event.id);
        expected.leased.sort_by_key(|leased| leased.event.id);
        assert_eq!(found.leased.len(), expected.leased.len(), "deliveries leased");
        for (found, expected) in found.leased.iter().zip(&expected.leased) {
            assert_eq!(found.event, expected.event);
            assert_eq!(
                (
                    found.generation,
                    found.idempotency_key,
                    found.attempt,
                    found.lost,
                    &found.lane
                ),
                (
                    expected.generation,
                    expected.idempotency_key,
                    expected.attempt,
                    expected.lost,
                    &expected.lane
                )
            );
            self.holds.push((found.hold(), expected.hold()));
        }
        let paused = self.model.pauses().await.must();
        if paused
            .iter()
            .all(|pause| pause.destination.as_str() != destination)
        {
            assert_eq!(found.next_due.is_some(), expected.next_due.is_some(), "next due");
        }
    }

    /// The limit, unless it would separate two deliveries that are due at the same time: which of them goes first is
    /// the store's choice.
    async fn clean_limit(&self, destination: &str, limit: u32, candidates: Candidates) -> u32 {
        let mut due = Vec::new();
        for (id, _) in &self.events {
            let record = self.model.get(*id).await.must();
            for view in record.into_iter().flat_map(|record| record.deliveries) {
                let suspect = match candidates {
                    Candidates::Fresh => view.lost == 0,
                    Candidates::Suspect => view.lost > 0,
                };
                if view.destination.as_str() == destination && suspect {
                    due.extend(view.due_at);
                }
            }
        }
        due.sort_unstable();
        let cut = limit as usize;
        match (due.get(cut - 1), due.get(cut)) {
            (Some(last), Some(next)) if last == next => ALL,
            _ => limit,
        }
    }

    async fn finish(&mut self, hold: Index, end: End) {
        let Some((ours, models)) = self.some_hold(hold) else {
            return;
        };
        let outcome = match end {
            End::Complete => AttemptOutcome::Completed,
            End::RetryNow => AttemptOutcome::Retry {
                after: Duration::ZERO,
            },
            End::RetryLater => AttemptOutcome::Retry { after: LONG },
            End::Die => dead(),
            End::Release => AttemptOutcome::Release,
        };
        let ours = self.bench.report(&ours, outcome);
        let mut report = ours.clone();
        report.hold = models;
        let found = self.bench.store.finish(vec![ours]).await.must();
        assert_eq!(found, self.model.finish(vec![report]).await.must());
    }

    /// One of the latest holds: some of them are running, the others were superseded.
    fn some_hold(&self, index: Index) -> Option<(Hold, Hold)> {
        let older = self.holds.len().saturating_sub(HOLDS_RECENT);
        pick(&self.holds[older..], index).cloned()
    }

    async fn extend(&mut self, ours: Hold, models: Hold, lease_for: Duration) {
        let found = self.bench.store.extend(vec![ours], lease_for).await.must();
        assert_eq!(found, self.model.extend(vec![models], lease_for).await.must());
    }

    async fn expire(&mut self) {
        self.bench.expire().await;
        self.agree_on_time().await;
        let found = sorted(self.bench.rescue().await);
        assert_eq!(found, sorted(self.model.rescue(ALL).await.must()));
    }

    /// A crash. Some stores void leases, others wait for them to expire: afterwards both are the same.
    async fn reopen(&mut self) {
        for (ours, models) in self.holds.clone() {
            self.extend(ours, models, self.bench.short()).await;
        }
        self.bench.reopen().await;
        self.bench.expire().await;
        self.agree_on_time().await;
        self.bench.rescue().await;
        self.model.rescue(ALL).await.must();
    }
}

fn sorted(mut rescued: Vec<Rescued>) -> Vec<Rescued> {
    rescued.sort_by(|one, other| (one.event, &one.destination).cmp(&(other.event, &other.destination)));
    rescued
}

pub(super) fn pick<T>(from: &[T], index: Index) -> Option<&T> {
    (!from.is_empty()).then(|| index.get(from))
}
