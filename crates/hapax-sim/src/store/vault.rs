//! The vault: the model of the store, which notes in the history what it does, and where a mutation breaks it.

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

/// Between looking and inserting, where a mutation does that.
const LOOK_TO_INSERT: Duration = Duration::from_millis(5);
/// How often work is found, where a mutation finds it seldom.
const LOOK_SELDOM: Duration = Duration::from_secs(1);
/// How much too early leases end, where a mutation ends them early.
const TOO_EARLY_MILLIS: i64 = 2_000;

/// The store behind the network.
pub struct Vault {
    /// The model itself, for what is neither noted nor broken.
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
    /// The first and the last token of each delivery, for mutations that do not use the one shown.
    tokens: BTreeMap<(EventId, DestinationId), (Token, Token)>,
    /// When each process was last told what is due, for a mutation that does so seldom.
    looked: BTreeMap<(Process, DestinationId, bool), Duration>,
}

impl Vault {
    /// An empty one on its own clock.
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

    /// How often someone asked for work.
    pub fn leases_asked(&self) -> u64 {
        self.leases_asked.load(Ordering::Relaxed)
    }

    /// The mutation, if one is at work.
    pub const fn mutation(&self) -> Option<Mutation> {
        self.mutation
    }

    /// Any event that was stored.
    pub fn any_event(&self, dice: &Dice) -> Option<EventId> {
        let rows = self.rows.lock();
        rows.names.keys().nth(dice.index(rows.names.len())).copied()
    }

    /// Sets the store's clock.
    pub fn step_clock(&self, millis: i64) {
        self.clock.step(millis);
    }

    /// Claims and stores.
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

    /// Leases what is due.
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

    /// Renews leases.
    pub async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        let holds = holds.into_iter().map(|hold| self.unfenced(hold)).collect();
        self.model.extend(holds, lease_for).await
    }

    /// Records what became of attempts.
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

    /// Takes back what expired.
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

    /// Notes that someone lives, and takes back what the dead hold.
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

    /// Counts every lease as lost: what a store does that only one process has, when that process starts.
    pub fn void_leases(&self) {
        if !self.has(Mutation::NoRescue) {
            self.note_rescued(&self.model.void_leases());
        }
    }

    /// Puts finished deliveries back.
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

    /// A page of events.
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

    /// The destinations that an event is done with.
    async fn finished(&self, event: EventId) -> BTreeSet<DestinationId> {
        let record = self.model.get(event).await.ok().flatten();
        let deliveries = record.map(|record| record.deliveries).unwrap_or_default();
        let finished = deliveries.into_iter().filter(|view| !view.state.is_unfinished());
        finished.map(|view| view.destination).collect()
    }

    /// Whether someone has not found anything for so long that it may look again, where a mutation lets it look seldom.
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

    /// Looks, waits, and then lets the events in that were unknown before the wait, whoever came meanwhile.
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
                // Its row is beside the first one's.
                event.key = Key::from_bytes(*event.id.as_bytes());
            }
        }
    }

    async fn is_known(&self, event: &NewEvent) -> bool {
        matches!(self.model.look_up(&event.identity).await, Ok(Some(_)))
    }

    /// Keeps the token of a new lease; the first one that this delivery ever had.
    fn remember(&self, event: EventId, destination: &DestinationId, token: Token) -> Token {
        let mut rows = self.rows.lock();
        let tokens = rows
            .tokens
            .entry((event, destination.clone()))
            .or_insert((token, token));
        tokens.1 = token;
        tokens.0
    }

    /// What the model is shown instead of `hold`, where tokens do not count.
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

/// A key that only this attempt has.
fn key_of_attempt(leased: &Leased) -> IdempotencyKey {
    let generation = Generation(u32::try_from(leased.token.0).unwrap_or(u32::MAX));
    leased
        .event
        .identity
        .idempotency_key(generation, &leased.destination)
}
