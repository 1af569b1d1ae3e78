//! Run: attempts deliveries, each under its lease and deadline, as many at a time as there are slots.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use hapax_core::store::Report;
use hapax_core::{Attempt, AttemptOutcome, ErrorClass, Leased, Owner, Timestamp};

use crate::breaker::Change;
use crate::destination_runtime::{DestinationRuntime, Permit, QueuedAttempt};
use crate::engine::Inner;
use crate::finished::Finished;
use crate::held_leases::Signals;
use crate::observe::Observation;
use crate::transport::{AttemptResult, Reply};

/// The longest `Retry-After` that is honoured.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3600);
/// The most bytes stored of a response or an error message.
const TEXT_MAX: usize = 1_024;

/// How an attempt ended.
enum Ending {
    Answered(AttemptResult),
    LeaseLost,
    Released,
}

/// How a delivery got its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Immediately.
    Direct,
    /// After waiting for it.
    AfterWait,
}

impl Inner {
    /// Starts an attempt in its own task, as soon as a slot is free.
    pub(crate) fn start_attempt(self: &Arc<Self>, owner: Owner, leased: Leased, permit: Permit) {
        let runtime = Arc::clone(permit.runtime());
        let lease_for = runtime.with_settings(|settings| settings.lease);
        let signals = self
            .held_leases
            .begin(&leased.hold(), owner, lease_for, self.elapsed());
        let queued = QueuedAttempt {
            leased,
            permit,
            signals,
        };
        if let Some(first) = runtime.enqueue(queued) {
            let inner = Arc::clone(self);
            let attempts = async move { inner.run_slot(first, &runtime).await };
            self.parts
                .runtime
                .spawn(Box::pin(self.attempts.track_future(attempts)));
        }
    }

    /// One slot: runs one attempt after another while deliveries wait for it.
    async fn run_slot(self: Arc<Self>, first: QueuedAttempt, runtime: &Arc<DestinationRuntime>) {
        let mut start = Start::Direct;
        let mut next = Some(first);
        while let Some(queued) = next {
            self.attempt(queued, runtime, start).await;
            start = Start::AfterWait;
            next = runtime.next_queued();
        }
    }

    async fn attempt(&self, queued: QueuedAttempt, runtime: &Arc<DestinationRuntime>, start: Start) {
        let QueuedAttempt {
            leased,
            permit,
            signals,
        } = queued;
        let deadline = runtime.with_settings(|settings| settings.deadline);
        let hold = leased.hold();
        let started = self.elapsed();
        let started_at = self.parts.clock.now();
        fail::fail_point!("run.before_attempt");
        let ending = if start == Start::AfterWait && (self.is_stopping() || !runtime.is_open(started)) {
            runtime.unused(1);
            Ending::Released
        } else {
            let ending = self.try_once(&leased, &signals, deadline).await;
            if !matches!(ending, Ending::Answered(_)) {
                runtime.probe_released();
            }
            ending
        };
        fail::fail_point!("run.after_attempt");
        let ended = self.elapsed();
        self.held_leases.attempt_ended(&hold, ended);
        let took = ended.saturating_sub(started);
        let was_lost_before = leased.lost > 0;
        let finished = match ending {
            Ending::Answered(answer) => {
                runtime.took(took);
                Some(self.conclude(leased, runtime, answer, started_at, took))
            }
            Ending::Released => {
                self.released.fetch_add(1, Ordering::Relaxed);
                self.observe(&Observation::GivenBack { delivery: &leased });
                let report = Report {
                    hold,
                    attempt: None,
                    outcome: AttemptOutcome::Release,
                };
                Some(Finished::new(report, leased, Arc::clone(runtime)))
            }
            Ending::LeaseLost => {
                self.held_leases.end(&hold);
                self.observe(&Observation::LeaseLost { delivery: &leased });
                None
            }
        };
        if was_lost_before {
            self.suspects.store(false, Ordering::SeqCst);
        }
        drop(permit);
        if let Some(finished) = finished {
            // When the queue is full, the attempt waits here, which bounds memory. Closed only when nothing is left to
            // write.
            let _ = self.finish_queue.send(finished).await;
        }
        // The returned permit may serve a waiting delivery.
        if runtime.has_backlog() || was_lost_before {
            self.dispatch.notify_one();
        }
    }

    async fn try_once(&self, leased: &Leased, signals: &Signals, deadline: Duration) -> Ending {
        let overrun = || {
            let message = format!("no answer within {deadline:?}");
            Ending::Answered(AttemptResult::failed(ErrorClass::Timeout, message))
        };
        // A transport that panics must not lose its slot: the lease expires, and that counts as lost.
        let answered = AssertUnwindSafe(async {
            match self.refuse_late(leased).await {
                Some(refused) => refused,
                None => self.parts.transport.deliver(leased).await,
            }
        });
        let answered = answered.catch_unwind();
        tokio::select! {
            biased;
            () = signals.lost.cancelled() => Ending::LeaseLost,
            () = signals.release.cancelled() => Ending::Released,
            answer = answered => answer.map_or(Ending::LeaseLost, Ending::Answered),
            () = self.parts.runtime.sleep(deadline) => overrun(),
        }
    }

    /// Derives the outcome from an answer.
    fn conclude(
        &self,
        leased: Leased,
        runtime: &Arc<DestinationRuntime>,
        answer: AttemptResult,
        started_at: Timestamp,
        took: Duration,
    ) -> Finished {
        let now = self.elapsed();
        // A destination that refuses one event permanently is healthy: only retryable failures count.
        let change = match &answer.reply {
            Reply::Done | Reply::Refused { .. } => runtime.succeeded(),
            Reply::Failed { .. } => runtime.failed(now),
        };
        let (outcome, error, message) = match answer.reply {
            Reply::Done => (AttemptOutcome::Completed, None, None),
            Reply::Refused { class, message } => {
                (AttemptOutcome::Dead { reason: class }, Some(class), Some(message))
            }
            Reply::Failed {
                class,
                message,
                retry_after,
            } => {
                let outcome = runtime.with_settings(|settings| {
                    if leased.attempt >= settings.attempts_max {
                        return AttemptOutcome::Dead { reason: class };
                    }
                    let after = match retry_after {
                        Some(wish) => wish.min(RETRY_AFTER_MAX),
                        None => settings.backoff.delay(leased.attempt, &*self.parts.random),
                    };
                    AttemptOutcome::Retry { after }
                });
                (outcome, Some(class), Some(message))
            }
        };
        match change {
            Change::None => {}
            Change::Opened(pause) => {
                self.observe(&Observation::Breaker {
                    destination: &leased.destination,
                    open_for: Some(pause),
                });
            }
            Change::Closed => {
                runtime.mark_dirty();
                self.observe(&Observation::Breaker {
                    destination: &leased.destination,
                    open_for: None,
                });
            }
        }
        let attempt = Attempt {
            started_at,
            duration_ms: u32::try_from(took.as_millis()).unwrap_or(u32::MAX),
            status: answer.status,
            excerpt: shorten(answer.excerpt),
            error,
            message: message.map(shorten),
        };
        self.observe(&Observation::Attempted {
            delivery: &leased,
            attempt: &attempt,
            took,
            outcome,
        });
        let report = Report {
            hold: leased.hold(),
            attempt: Some(attempt),
            outcome,
        };
        Finished::new(report, leased, Arc::clone(runtime))
    }
}

fn shorten(mut text: String) -> String {
    if text.len() > TEXT_MAX {
        let mut end = TEXT_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
