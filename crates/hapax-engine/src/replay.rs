//! Replay: requeues finished deliveries of one event or many.
//!
//! A bulk replay is a stored job from the start: it resumes after a restart, runs at its own rate, and can be
//! cancelled. It walks from the oldest event to the newest, so that requeued deliveries run in the order of acceptance.
//! The store makes sure that jobs that share a destination run one after another.

mod late;

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{
    Actor, Cursor, Driver, Error, EventQuery, EventSummary, ListOrder, ReplayJob, ReplayJobId,
    ReplayJobState, ReplayMode, ReplayOrder, ReplayTally, ReplayTarget, Replayed,
};
use hapax_core::{DestinationId, EventId, EventStatus, Identity, Lane};

use crate::engine::{Engine, Inner};
use crate::observe::Observation;
use crate::search::{BODIES_MAX, Coverage};

/// Events requeued in one write.
const PORTION: u32 = 100;
/// Events shown in a preview.
const SAMPLES: usize = 5;
/// A job whose driver has been silent for this long is taken over. A portion takes about a second.
const DRIVE_LEASE: Duration = Duration::from_secs(30);
/// The pause before a failed portion is retried.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// A bulk replay to start.
#[derive(Clone, Debug)]
pub struct ReplayRequest {
    pub query: EventQuery,
    /// Which of the events' deliveries.
    pub mode: ReplayMode,
    /// Only this destination.
    pub to: Option<DestinationId>,
    /// Maximum events per second.
    pub rate_per_second: u32,
    pub who: Actor,
    pub why: String,
}

/// The events that a bulk replay would process.
#[derive(Clone, Debug)]
pub struct ReplayPreview {
    pub matched: u64,
    pub samples: Vec<EventSummary>,
    /// How much of the store was searched.
    pub coverage: Coverage,
}

impl Engine {
    /// Requeues one event's deliveries.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn replay(
        &self,
        event: EventId,
        mode: ReplayMode,
        to: Option<DestinationId>,
        who: impl Into<Actor>,
        why: &str,
    ) -> Result<Replayed, Error> {
        let inner = &self.0;
        let orders = inner.replay_orders(event, mode, to, None).await?;
        let replayed = late::together(inner.parts.store.replay(orders).await?);
        let detail = format!("mode {}, {}, {replayed:?}", mode_name(mode), said(why));
        inner
            .audit(&who.into(), "replay", event.to_string(), detail)
            .await?;
        inner.mark_all_dirty();
        Ok(replayed)
    }

    /// Counts the events a bulk replay would process, and changes nothing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn preview_replay(&self, request: &ReplayRequest) -> Result<ReplayPreview, Error> {
        let mut preview = ReplayPreview {
            matched: 0,
            samples: Vec::new(),
            coverage: Coverage::Everything,
        };
        let mut after = None;
        loop {
            let page = self.search(&request.query, after, PORTION).await?;
            preview.matched += page.events.len() as u64;
            let room = SAMPLES.saturating_sub(preview.samples.len());
            preview.samples.extend(page.events.into_iter().take(room));
            preview.coverage = page.coverage;
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(preview),
            }
        }
    }

    /// Stores a bulk replay and starts it.
    ///
    /// # Errors
    /// When the store fails; nothing was started then.
    pub async fn start_replay(&self, request: ReplayRequest) -> Result<ReplayJob, Error> {
        let inner = &self.0;
        let now = inner.parts.clock.now();
        let key = Identity::new("replay", now.to_string()).key();
        let job = ReplayJob {
            id: ReplayJobId(inner.ids.next(now, key, &*inner.parts.random)),
            query: request.query,
            mode: request.mode,
            to: request.to,
            rate_per_second: request.rate_per_second.max(1),
            // `until` is exclusive; events that arrived just now are included, too.
            as_of: now.plus(Duration::from_micros(1)),
            cursor: None,
            state: ReplayJobState::Running,
            who: request.who.name.clone(),
            why: request.why,
            tally: ReplayTally::default(),
        };
        inner.parts.store.create_replay(job.clone()).await?;
        let detail = format!("mode {}, {}", mode_name(job.mode), said(&job.why));
        inner
            .audit(&request.who, "replay.start", job.id.to_string(), detail)
            .await?;
        inner.replays.notify_one();
        Ok(job)
    }

    /// Cancels a bulk replay. Returns whether it was running.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cancel_replay(&self, id: ReplayJobId, who: impl Into<Actor>) -> Result<bool, Error> {
        let cancelled = self.0.parts.store.cancel_replay(id).await?;
        if cancelled {
            self.0
                .audit(&who.into(), "replay.cancel", id.to_string(), String::new())
                .await?;
        }
        Ok(cancelled)
    }
}

impl Inner {
    /// Drives stored replay jobs, oldest first, one portion after another. Jobs driven by another replica are left to
    /// it; abandoned ones are looked for from time to time.
    pub(crate) async fn replay_loop(self: Arc<Self>) {
        loop {
            let job = match self.claim_replay().await {
                Ok(job) => job,
                Err(error) => {
                    self.observe(&Observation::StoreFailed {
                        during: "reading replays",
                        error: &error,
                    });
                    if self.rest(FAILURE_PAUSE).await {
                        return;
                    }
                    continue;
                }
            };
            if let Some(job) = job {
                if self.drive(job).await {
                    return;
                }
                continue;
            }
            tokio::select! {
                biased;
                () = self.replays.notified() => {}
                stopped = self.rest(DRIVE_LEASE) => if stopped { return },
            }
        }
    }

    /// The oldest job that no other replica drives.
    async fn claim_replay(&self) -> Result<Option<ReplayJob>, Error> {
        for job in self.parts.store.unfinished_replays().await? {
            let claimed = self
                .parts
                .store
                .claim_replay(job.id, self.as_driver(DRIVE_LEASE))
                .await?;
            if claimed.is_some() {
                return Ok(claimed);
            }
        }
        Ok(None)
    }

    const fn as_driver(&self, lease_for: Duration) -> Driver {
        Driver {
            owner: self.driver,
            lease_for,
        }
    }

    /// Drives one job until it ends, is cancelled or the engine stops. Returns whether the engine stopped.
    async fn drive(&self, job: ReplayJob) -> bool {
        let id = job.id;
        let stopped = self.drive_on(job).await;
        if stopped {
            // So that another replica need not wait for the lease to end; if this fails, it does wait.
            drop(
                self.parts
                    .store
                    .claim_replay(id, self.as_driver(Duration::ZERO))
                    .await,
            );
        }
        stopped
    }

    async fn drive_on(&self, mut job: ReplayJob) -> bool {
        while job.state == ReplayJobState::Running {
            let started = self.elapsed();
            let looked_at = match self.replay_portion(&mut job).await {
                Ok(Some(looked_at)) => looked_at,
                Ok(None) => return false,
                Err(error) => {
                    self.observe(&Observation::StoreFailed {
                        during: "replaying",
                        error: &error,
                    });
                    if self.rest(FAILURE_PAUSE).await {
                        return true;
                    }
                    continue;
                }
            };
            let pace = Duration::from_secs(1).saturating_mul(looked_at) / job.rate_per_second.max(1);
            if self
                .rest(pace.saturating_sub(self.elapsed().saturating_sub(started)))
                .await
            {
                return true;
            }
        }
        false
    }

    /// One portion of a job: how many events it processed, or nothing if the job was cancelled or taken over.
    async fn replay_portion(&self, job: &mut ReplayJob) -> Result<Option<u32>, Error> {
        let (mut query, _) = self.plan_search(&job.query);
        query.until = Some(query.until.map_or(job.as_of, |until| until.min(job.as_of)));
        let cursor = match job.cursor {
            None if query.by_index.is_none() && !query.body.is_empty() => {
                self.begin_search(job, &query).await?
            }
            cursor => cursor.map(Cursor),
        };
        query.order = ListOrder::OldestFirst;
        let portion = PORTION.min(job.rate_per_second.max(1));
        let page = self.parts.store.list(&query, cursor, portion).await?;
        let late_before = self.late_before();
        let mut orders = Vec::with_capacity(page.events.len());
        let mut orders_of = Vec::with_capacity(page.events.len());
        for event in &page.events {
            let some = if event.status == EventStatus::Held && job.mode != ReplayMode::Held {
                // Nor does it go to a destination that is new to it: an operator must decide first.
                Vec::new()
            } else if late_before.is_some_and(|before| event.received_at < before) {
                self.replay_orders(event.id, job.mode, job.to.clone(), Some(job.id))
                    .await?
            } else {
                vec![ReplayOrder {
                    event: event.id,
                    mode: job.mode,
                    to: self.replay_target(event.id, job.to.clone()).await?,
                    job: Some(job.id),
                }]
            };
            orders_of.push(some.len());
            orders.extend(some);
        }
        // A crash between these two writes repeats the portion; the store skips deliveries that this job has already
        // requeued.
        let mut next = job.clone();
        let answers = if orders.is_empty() {
            Vec::new()
        } else {
            self.parts.store.replay(orders).await?
        };
        let mut answers = answers.into_iter();
        for orders in orders_of {
            next.tally.matched += 1;
            match late::together(answers.by_ref().take(orders)) {
                Replayed::Again { deliveries, .. } => next.tally.replayed += u64::from(deliveries),
                Replayed::Unfinished => next.tally.unfinished += 1,
                Replayed::Nothing | Replayed::NotFound => next.tally.skipped += 1,
            }
        }
        fail::fail_point!("replay.before_advance");
        next.tally.bodies_read += page.bodies_read;
        match page.next {
            Some(Cursor(cursor)) => next.cursor = Some(cursor),
            None => next.state = ReplayJobState::Done,
        }
        let going_on = self
            .parts
            .store
            .advance_replay(&next, self.as_driver(DRIVE_LEASE))
            .await?;
        *job = next;
        self.mark_all_dirty();
        Ok(going_on.then_some(page.events.len() as u32))
    }

    /// Where a walk that reads bodies begins: at the oldest event that the same search would read, so that a replay
    /// covers what its preview counted.
    async fn begin_search(&self, job: &ReplayJob, query: &EventQuery) -> Result<Option<Cursor>, Error> {
        let store = &self.parts.store;
        let (mut after, mut bodies_read) = (None, 0);
        loop {
            let page = store.list(query, after, PORTION).await?;
            bodies_read += page.bodies_read;
            match page.next {
                None => return Ok(None),
                // In the other direction, the walk continues after everything older than this one.
                Some(Cursor(last)) if bodies_read >= BODIES_MAX => {
                    return Ok(Some(Cursor(last.saturating_sub(1))));
                }
                next => after = next,
            }
            // Reading bodies may outlast the claim.
            store.claim_replay(job.id, self.as_driver(DRIVE_LEASE)).await?;
        }
    }

    /// The destination of a replay, and the lane it joins there.
    async fn replay_target(
        &self,
        event: EventId,
        to: Option<DestinationId>,
    ) -> Result<Option<ReplayTarget>, Error> {
        let Some(destination) = to else { return Ok(None) };
        let runtime = self.plan.load().destinations.get(&destination).cloned();
        let order = runtime.and_then(|runtime| {
            runtime.with_settings(|settings| settings.order_by.clone().map(|order| (order, settings.on_dead)))
        });
        let mut lane = None;
        if let Some((order, on_dead)) = order
            && let Some(record) = self.parts.store.get(event).await?
        {
            let key = order.key(&record.event.headers, &record.event.body);
            lane = key.map(|key| Lane { key, on_dead });
        }
        Ok(Some(ReplayTarget { destination, lane }))
    }

    /// Any destination may have due deliveries.
    pub(crate) fn mark_all_dirty(&self) {
        self.plan
            .load()
            .destinations
            .values()
            .for_each(|runtime| runtime.mark_dirty());
        self.dispatch.notify_one();
    }
}

const fn mode_name(mode: ReplayMode) -> &'static str {
    match mode {
        ReplayMode::Failed => "failed",
        ReplayMode::All => "all",
        ReplayMode::Force => "force",
        ReplayMode::Held => "held",
    }
}

fn said(why: &str) -> String {
    if why.is_empty() {
        "no reason given".to_owned()
    } else {
        format!("because {why}")
    }
}
