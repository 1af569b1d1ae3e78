//! The clients' observations, in numbers.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

/// Counts of responses, and the longest wait.
#[derive(Default)]
pub(in super::super) struct Tally {
    events: watch::Sender<usize>,
    durable: AtomicUsize,
    refused: watch::Sender<usize>,
    unanswered: AtomicUsize,
    timed_out: AtomicUsize,
    longest_answer_us: AtomicU64,
    longest_wait_us: AtomicU64,
}

impl Tally {
    /// Events of which every delivery was answered 2xx.
    pub(in super::super) fn events(&self) -> usize {
        *self.events.borrow()
    }

    /// Responses that were 2xx.
    pub(in super::super) fn answers(&self) -> usize {
        self.durable.load(Ordering::Relaxed)
    }

    /// The longest time from the first try of a delivery to its 2xx: the interruption as a client sees it.
    pub(in super::super) fn longest_wait(&self) -> Duration {
        Duration::from_micros(self.longest_wait_us.load(Ordering::Relaxed))
    }

    /// Asserts that every request was answered within this time.
    #[track_caller]
    pub(in super::super) fn assert_within(&self, limit: Duration) {
        assert_eq!(
            self.timed_out.load(Ordering::Relaxed),
            0,
            "requests without an answer in {limit:?}: {self}"
        );
    }

    pub(super) async fn until(&self, events: usize) {
        let mut changes = self.events.subscribe();
        // The channel's sender lives as long as this does, so the wait cannot end otherwise.
        let _ = changes.wait_for(|count| *count >= events).await;
    }

    pub(super) async fn until_refused(&self) {
        let mut changes = self.refused.subscribe();
        let before = *changes.borrow_and_update();
        let _ = changes.wait_for(|count| *count > before).await;
    }

    pub(super) fn event_is_durable(&self) {
        self.events.send_modify(|count| *count += 1);
    }

    pub(super) fn answered(&self, status: u16, took: Duration) {
        if (200..300).contains(&status) {
            self.durable.fetch_add(1, Ordering::Relaxed);
        } else {
            self.refused.send_modify(|count| *count += 1);
        }
        self.longest_answer_us
            .fetch_max(took.as_micros() as u64, Ordering::Relaxed);
    }

    pub(super) fn unanswered(&self) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn timed_out(&self) {
        self.timed_out.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn waited(&self, time: Duration) {
        self.longest_wait_us
            .fetch_max(time.as_micros() as u64, Ordering::Relaxed);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        write!(
            formatter,
            "{} events, {} answers 2xx, {} refused, {} broken off, {} without an answer in time; longest answer {:.1} s, \
             longest wait for a 2xx {:.1} s",
            self.events(),
            count(&self.durable),
            *self.refused.borrow(),
            count(&self.unanswered),
            count(&self.timed_out),
            Duration::from_micros(self.longest_answer_us.load(Ordering::Relaxed)).as_secs_f64(),
            self.longest_wait().as_secs_f64(),
        )
    }
}
