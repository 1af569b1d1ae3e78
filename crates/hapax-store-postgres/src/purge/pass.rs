//! The progress of a purge in a part. A pass goes once over the events that were old when it began, each source in
//! order of arrival, and begins where the last pass ended: the index keeps deleted rows until the next vacuum, and
//! starting over would read through all of them.
//!
//! Old events that must stay (unfinished deliveries, dead letters) are remembered and checked again in each pass.
//! Occasionally a pass begins at the very beginning, to find events that arrived late or were locked by others.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use hapax_core::store::PurgeOrder;
use hapax_core::{SourceName, Timestamp};
use uuid::Uuid;

use super::chunk::{Chunk, Position, Seen, Slice, Window};
use super::transaction::{Done, Forgot};
use super::{Budget, CHUNK};

/// Old events that must stay, remembered per part.
const KEPT_MAX: usize = 10_000;
/// The time between an event's arrival and its acceptance: a pass begins this long before the end of the last one.
const SLACK_MICROS: i64 = 5_000_000;
/// How often a pass begins at the very beginning.
const WHOLE_EVERY: Duration = Duration::from_secs(3_600);

const BEGINNING: Position = (i64::MIN, Uuid::nil());

/// What one transaction works on, and its progress.
#[derive(Debug)]
pub(super) struct Part {
    slice: Slice,
    sources: HashMap<SourceName, Reach>,
    kept: VecDeque<Seen>,
    /// How many of `kept` this pass still has to check; `None` outside of a pass.
    revisit: Option<usize>,
    /// No entry that expired before this is left.
    ledger_from: i64,
    bodies_from: i64,
    ledger_is_over: bool,
    bodies_are_over: bool,
    /// Whether this pass has deleted ledger entries.
    ledger_went: bool,
    whole_due: Instant,
}

#[derive(Debug)]
struct Reach {
    at: Position,
    /// Where this pass ends.
    end: Timestamp,
    is_over: bool,
    /// The first event that should have been remembered but was not: the next pass begins there.
    pin: Option<i64>,
}

impl Part {
    pub(super) fn new(slice: Slice) -> Self {
        Self {
            slice,
            sources: HashMap::new(),
            kept: VecDeque::new(),
            revisit: None,
            ledger_from: i64::MIN,
            bodies_from: i64::MIN,
            ledger_is_over: false,
            bodies_are_over: false,
            ledger_went: false,
            whole_due: Instant::now() + WHOLE_EVERY,
        }
    }

    /// Begins a pass, unless one is in progress. The pass covers the events that a source had when the pass began, so
    /// that a source that lags behind does not hold up the others.
    pub(super) fn begin_pass(&mut self, order: &PurgeOrder) {
        if self.revisit.is_none() {
            if Instant::now() >= self.whole_due {
                *self = Self::new(self.slice);
            }
            self.revisit = Some(self.kept.len());
            (self.ledger_is_over, self.bodies_are_over) = (false, false);
            // Another transaction may have locked some without deleting them: start over when there was nothing to
            // delete.
            if !std::mem::take(&mut self.ledger_went) {
                self.ledger_from = i64::MIN;
            }
            self.sources
                .retain(|source, _| order.windows.iter().any(|window| window.source == *source));
        }
        for window in &order.windows {
            self.sources.entry(window.source.clone()).or_insert(Reach {
                at: BEGINNING,
                end: window.payload_before,
                is_over: false,
                pin: None,
            });
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.revisit == Some(0)
            && self.ledger_is_over
            && self.bodies_are_over
            && self.sources.values().all(|reach| reach.is_over)
    }

    /// Ends the pass. Returns whether there is more to delete by now.
    pub(super) fn end_pass(&mut self, order: &PurgeOrder) -> bool {
        self.revisit = None;
        let mut moved = false;
        for window in &order.windows {
            if let Some(reach) = self.sources.get_mut(&window.source) {
                moved |= reach.end < window.payload_before;
                let begin = reach.at.0.saturating_sub(SLACK_MICROS);
                reach.at = (reach.pin.take().map_or(begin, |pin| pin.min(begin)), Uuid::nil());
                reach.end = window.payload_before;
                reach.is_over = false;
            }
        }
        moved
    }

    /// The next transaction.
    pub(super) fn chunk(&self, order: &PurgeOrder, budget: &Budget) -> Chunk {
        let limit = budget.events.min(CHUNK) as usize;
        let looks = limit.min(budget.looks);
        let revisit = self.revisit.unwrap_or_default().min(looks);
        let open: Vec<_> = order
            .windows
            .iter()
            .filter_map(|window| {
                let reach = self.sources.get(&window.source).filter(|reach| !reach.is_over)?;
                Some((window, reach))
            })
            .collect();
        // Remembered events come first.
        let share = (looks - revisit).checked_div(open.len()).unwrap_or_default();
        let share = if revisit == looks { 0 } else { share.max(1) };
        let windows = order.windows.iter().map(|window| Window {
            source: window.source.clone(),
            payload_before: window.payload_before,
            dead_before: window.dead_before,
            from: open
                .iter()
                .find(|(one, _)| one.source == window.source && share > 0)
                .map(|(_, reach)| reach.at),
            end: self
                .sources
                .get(&window.source)
                .map_or(window.payload_before, |reach| {
                    reach.end.min(window.payload_before)
                }),
        });
        Chunk {
            slice: self.slice,
            windows: windows.collect(),
            share,
            revisit: self.kept.iter().take(revisit).cloned().collect(),
            ledger_before: order.ledger_before,
            ledger_from: self.ledger_from,
            ledger_max: if self.ledger_is_over {
                0
            } else {
                budget.ledger.min(CHUNK)
            },
            bodies_from: self.bodies_from,
            bodies_max: if self.bodies_are_over { 0 } else { CHUNK },
        }
    }

    /// Records the result of a transaction.
    pub(super) fn has_done(&mut self, chunk: &Chunk, done: Done, forgot: &Forgot) {
        let revisited = chunk.revisit.len();
        self.kept.drain(..revisited);
        self.revisit = self.revisit.map(|left| left.saturating_sub(revisited));
        for (window, reached) in chunk.windows.iter().zip(&done.reached) {
            if let (Some(reach), Some(reached)) = (self.sources.get_mut(&window.source), reached) {
                reach.at = reached.last.unwrap_or(reach.at);
                reach.is_over = reached.is_end;
            }
        }
        for stays in done.stays {
            if self.kept.len() < KEPT_MAX {
                self.kept.push_back(stays);
            } else if let Some(reach) = self.sources.get_mut(&stays.source) {
                reach.pin = Some(
                    reach
                        .pin
                        .map_or(stays.received_at, |pin| pin.min(stays.received_at)),
                );
            }
        }
        if chunk.ledger_max > 0 {
            self.ledger_from = forgot.ledger.reached.unwrap_or(self.ledger_from);
            self.ledger_is_over = forgot.ledger.found < u64::from(chunk.ledger_max);
            self.ledger_went |= forgot.ledger.found > 0;
        }
        // An entry may have expired before its event was deleted.
        if let Some(orphan) = done.orphans_from
            && orphan < chunk.ledger_before.as_micros()
        {
            self.ledger_from = self.ledger_from.min(orphan);
            self.ledger_is_over = false;
        }
        if chunk.bodies_max > 0 {
            self.bodies_from = forgot.bodies.reached.unwrap_or(self.bodies_from);
            self.bodies_are_over = forgot.bodies.found < u64::from(chunk.bodies_max);
        }
    }
}
