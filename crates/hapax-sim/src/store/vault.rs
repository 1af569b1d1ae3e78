//! The vault: the model store, which records its actions in the history, and the place where a mutation breaks it.

mod notes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hapax_core::store::{
    AcceptRequest, AliveReport, Candidates, Claim, Cursor, Error, EventPage, EventQuery, LeaseBatch,
    LeaseOrder, ListOrder, ReplayOrder, Replayed, Report, Rescued, Written,
};
use hapax_core::{
    DestinationId, EventId, Generation, Hold, IdempotencyKey, Key, Leased, NewEvent, Store as _, Token,
};
use hapax_store_laws::MemoryStore;
use parking_lot::Mutex;

use crate::clock::SkewedClock;
use crate::executor::{Executor, Process};
use crate::history::History;
use crate::mutation::Mutation;
use crate::random::Dice;

/// The delay between the check and the insert, under the mutation that separates them.
const LOOK_TO_INSERT: Duration = Duration::from_millis(5);
/// How often deliveries are found, under the mutation that finds them seldom.
const LOOK_SELDOM: Duration = Duration::from_secs(1);
/// How much too early leases end, under the mutation that ends them early.
const TOO_EARLY_MILLIS: i64 = 2_000;

/// The store behind the network.
pub struct Vault {
    /// The model itself, for calls that are neither recorded nor broken.
    pub model: MemoryStore,
    clock: Arc<SkewedClock>,
    executor: Executor,
    history: History,
    mutation: Option<Mutation>,
    rows: Mutex<Rows>,
    leases_asked: AtomicU64,
}

#[derive(Default)]
struct Rows {
    /// The sender's id of each event, to name it in the history.
    names: BTreeMap<EventId, String>,
    /// The first and the last token of each delivery, for mutations that ignore the one presented.
    tokens: BTreeMap<(EventId, DestinationId), (Token, Token)>,
    /// When each process last polled for due deliveries, for a mutation that allows it seldom.
    looked: BTreeMap<(Process, DestinationId, bool), Duration>,
}

impl Vault {
    /// An empty vault with its own clock.
    pub fn new(
        executor: Executor,
        clock: Arc<SkewedClock>,
        history: History,
        mutation: Option<Mutation>,
    ) -> Self {
        Self {
            model: MemoryStore::new(Arc::clone(&clock) as Arc<dyn hapax_core::Clock>),
            clock,
            executor,
            history,
            mutation,
            rows: Mutex::default(),
            leases_asked: AtomicU64::new(0),
        }
    }

    /// How often a lease was requested.
    pub fn leases_asked(&self) -> u64 {
        self.leases_asked.load(Ordering::Relaxed)
    }

    /// The active mutation, if any.
    pub const fn mutation(&self) -> Option<Mutation> {
        self.mutation
    }

    /// Any stored event.
    pub fn any_event(&self, dice: &Dice) -> Option<EventId> {
        let rows = self.rows.lock();
        rows.names.keys().nth(dice.index(rows.names.len())).copied()
    }

    /// Steps the store's clock.
    pub fn step_clock(&self, millis: i64) {
        self.clock.step(millis);
    }

    pub async fn accept(
        &self,
        by: Process,
        mut requests: Vec<AcceptRequest>,
    ) -> Vec<Result<Vec<Claim>, Error>> {
        if self.has(Mutation::LookThenInsert) {
            self.insert_without_constraint(&mut requests).await;
        }
        if self.has(Mutation::NoLanes) {
            let events = requests.iter_mut().flat_map(|request| &mut request.events);
            for delivery in events.flat_map(|event| &mut event.deliveries) {
                delivery.lane = None;
            }
        }
        let answers = self.model.accept(requests.clone()).await;
        for (request, answer) in requests.iter().zip(&answers) {
            for (event, claim) in request.events.iter().zip(answer.iter().flatten()) {
                self.note_claim(by, event, claim);
            }
        }
        answers
    }

    pub async fn lease(&self, by: Process, order: LeaseOrder) -> Result<LeaseBatch, Error> {
        self.leases_asked.fetch_add(1, Ordering::Relaxed);
        if self.has(Mutation::OneBatchPerLook) && !self.may_look(by, &order) {
            return Ok(LeaseBatch::default());
        }
        let mut batch = self.model.lease(order).await?;
        for leased in &mut batch.leased {
            let shown = self.remember(leased.event.id, &leased.destination, leased.token);
            if self.has(Mutation::ReusedTokens) {
                leased.token = shown;
            }
            if self.has(Mutation::KeyPerAttempt) {
                leased.idempotency_key = key_of_attempt(leased);
            }
            self.note_lease(by, leased.event.id, &leased.destination, leased.token);
        }
        Ok(batch)
    }

    pub async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        let holds = holds.into_iter().map(|hold| self.unfenced(hold)).collect();
        self.model.extend(holds, lease_for).await
    }

    /// Records the outcomes of attempts.
    pub async fn finish(&self, by: Process, reports: Vec<Report>) -> Result<Vec<Written>, Error> {
        let unfenced = reports.iter().cloned().map(|report| Report {
            hold: self.unfenced(report.hold),
            ..report
        });
        let written = self.model.finish(unfenced.collect()).await?;
        for (report, written) in reports.iter().zip(&written) {
            self.note_end(by, report, *written);
        }
        Ok(written)
    }

    /// Reclaims expired leases.
    pub async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error> {
        if self.has(Mutation::NoRescue) {
            return Ok(Vec::new());
        }
        let ahead = if self.has(Mutation::EarlyRescue) {
            TOO_EARLY_MILLIS
        } else {
            0
        };
        self.clock.step(ahead);
        let rescued = self.model.rescue(limit).await;
        self.clock.step(-ahead);
        let rescued = rescued?;
        self.note_rescued(&rescued);
        Ok(rescued)
    }

    /// Records that an owner is alive, and reclaims leases of dead ones.
    pub async fn report_alive(&self, mut report: AliveReport) -> Result<Vec<Rescued>, Error> {
        if self.has(Mutation::NoTakeOver) || self.has(Mutation::NoRescue) {
            report.limit = 0;
        }
        if self.has(Mutation::HastyJudge) {
            report.patience.reachable = Duration::ZERO;
        }
        let rescued = self.model.report_alive(report).await?;
        self.note_rescued(&rescued);
        Ok(rescued)
    }

    /// Voids every lease, as a store that belongs to a single process does when that process starts.
    pub fn void_leases(&self) {
        if !self.has(Mutation::NoRescue) {
            self.note_rescued(&self.model.void_leases());
        }
    }

    /// Requeues finished deliveries.
    pub async fn replay(&self, mut orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error> {
        if self.has(Mutation::ForgetfulReplay) {
            for order in &mut orders {
                order.job = None;
            }
        }
        let mut answers = Vec::with_capacity(orders.len());
        for order in orders {
            let (event, job) = (order.event, order.job);
            let before = self.finished(event).await;
            answers.extend(self.model.replay(vec![order]).await?);
            let after = self.finished(event).await;
            self.note_put_back(event, job, before.difference(&after));
        }
        Ok(answers)
    }

    pub async fn list(
        &self,
        mut query: EventQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<EventPage, Error> {
        if self.has(Mutation::BackwardReplay) {
            query.order = ListOrder::NewestFirst;
        }
        self.model.list(&query, after, limit).await
    }

    /// The destinations that have finished an event.
    async fn finished(&self, event: EventId) -> BTreeSet<DestinationId> {
        let record = self.model.get(event).await.ok().flatten();
        let deliveries = record.map(|record| record.deliveries).unwrap_or_default();
        let finished = deliveries.into_iter().filter(|view| !view.state.is_unfinished());
        finished.map(|view| view.destination).collect()
    }

    /// Whether a process may poll again, under the mutation that lets it poll seldom.
    fn may_look(&self, by: Process, order: &LeaseOrder) -> bool {
        let now = self.executor.now();
        let mut rows = self.rows.lock();
        let key = (
            by,
            order.destination.clone(),
            order.candidates == Candidates::Fresh,
        );
        let may = rows
            .looked
            .get(&key)
            .is_none_or(|last| now.saturating_sub(*last) >= LOOK_SELDOM);
        if may {
            rows.looked.insert(key, now);
        }
        may
    }

    fn has(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// Checks, waits, and then inserts the events that were unknown before the wait, even if they arrived during it.
    async fn insert_without_constraint(&self, requests: &mut [AcceptRequest]) {
        let mut unknown = Vec::new();
        for event in requests.iter_mut().flat_map(|request| &mut request.events) {
            if !self.is_known(event).await {
                unknown.push(event);
            }
        }
        self.executor.sleep(LOOK_TO_INSERT).await;
        for event in unknown {
            if self.is_known(event).await {
                // Its row is separate from the first one's.
                event.key = Key::from_bytes(*event.id.as_bytes());
            }
        }
    }

    async fn is_known(&self, event: &NewEvent) -> bool {
        matches!(self.model.look_up(&event.identity).await, Ok(Some(_)))
    }

    /// Remembers the token of a new lease. Returns the first one that this delivery had.
    fn remember(&self, event: EventId, destination: &DestinationId, token: Token) -> Token {
        let mut rows = self.rows.lock();
        let tokens = rows
            .tokens
            .entry((event, destination.clone()))
            .or_insert((token, token));
        tokens.1 = token;
        tokens.0
    }

    /// The hold to present to the model instead of `hold`, if tokens do not count.
    fn unfenced(&self, hold: Hold) -> Hold {
        if !self.has(Mutation::NoFencing) && !self.has(Mutation::ReusedTokens) {
            return hold;
        }
        let last = self
            .rows
            .lock()
            .tokens
            .get(&(hold.event, hold.destination.clone()))
            .copied();
        let token = last.map_or(hold.token, |(_, last)| last);
        Hold { token, ..hold }
    }
}

/// A key unique to this attempt.
fn key_of_attempt(leased: &Leased) -> IdempotencyKey {
    let generation = Generation(u32::try_from(leased.token.0).unwrap_or(u32::MAX));
    leased
        .event
        .identity
        .idempotency_key(generation, &leased.destination)
}
