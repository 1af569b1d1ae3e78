//! The next batch: the requests gathered for it, and when it starts.

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use super::batches::Progress;
use crate::engine::Limits;
use crate::requests::Waiting;

/// Requests that will be written together.
pub(super) struct NextBatch {
    gathered: Vec<Waiting>,
    /// Whether they have waited long enough for others.
    is_due: bool,
    /// Whether the queue is closed and empty.
    is_last: bool,
    /// The number of batches that had been written when it was last looked at.
    written: u64,
    requests_max: usize,
    full: usize,
    in_flight_max: usize,
}

impl NextBatch {
    pub(super) fn new(limits: &Limits) -> Self {
        let requests_max = limits.accept_batch.max(1);
        Self {
            gathered: Vec::new(),
            is_due: false,
            is_last: false,
            written: 0,
            requests_max,
            full: limits.accept_full.clamp(1, requests_max),
            in_flight_max: limits.accept_in_flight.max(1),
        }
    }

    /// Takes from the queue what has room in the batch.
    pub(super) fn gather(&mut self, queue: &mut mpsc::Receiver<Waiting>) {
        while self.has_room() {
            match queue.try_recv() {
                Ok(waiting) => self.gathered.push(waiting),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.is_last = true,
            }
        }
    }

    /// Adds what was received; nothing, if the queue is closed and empty.
    pub(super) fn receive(&mut self, received: Option<Waiting>) {
        self.is_last = received.is_none();
        self.gathered.extend(received);
    }

    /// Whether more requests may be gathered.
    pub(super) fn has_room(&self) -> bool {
        !self.is_last && self.gathered.len() < self.requests_max
    }

    /// Whether nothing is left to be written but the batches in progress.
    pub(super) fn is_last(&self) -> bool {
        self.is_last && self.gathered.is_empty()
    }

    /// Its requests have waited long enough for others.
    pub(super) fn make_due(&mut self) {
        self.is_due = true;
    }

    /// Whether it starts now.
    pub(super) fn starts(&mut self, progress: Progress) -> bool {
        let one_was_written = self.written != progress.written;
        self.written = progress.written;
        if self.gathered.is_empty() {
            return false;
        }
        self.is_due |= one_was_written || self.is_last || self.gathered.len() >= self.full;
        progress.open < self.in_flight_max && (self.is_due || progress.writing == 0)
    }

    /// Whether its requests wait although it may start.
    pub(super) fn waits_for_others(&self, progress: Progress) -> bool {
        !self.gathered.is_empty() && progress.open < self.in_flight_max
    }

    /// Its requests. From then on, the batch after it is gathered.
    pub(super) fn take(&mut self) -> Vec<Waiting> {
        self.is_due = false;
        std::mem::take(&mut self.gathered)
    }
}
