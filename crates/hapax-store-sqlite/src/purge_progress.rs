//! How far purges have come, and which old events they had to leave.

use std::collections::{HashMap, VecDeque};

use hapax_core::Timestamp;

/// The progress of purges, in memory.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) sources: HashMap<i64, SourceProgress>,
    highest: i64,
}

#[derive(Debug, Default)]
pub(crate) struct SourceProgress {
    /// Every event below was deleted or is remembered in `kept`.
    pub(crate) cursor: i64,
    pub(crate) kept: VecDeque<Kept>,
    /// The position of this pass; `None` before it begins.
    pub(crate) at: Option<i64>,
    /// The first event that this pass must leave to the next.
    pub(crate) pin: Option<i64>,
    /// How many of `kept` this pass still has to check.
    pub(crate) revisit: usize,
    pub(crate) passed: bool,
}

impl Progress {
    /// A row was appended. If it is below a cursor, the cursor moves back, or no pass would ever read the row.
    pub(crate) fn appended(&mut self, seq: i64) {
        if seq < self.highest {
            for progress in self.sources.values_mut() {
                progress.cursor = progress.cursor.min(seq);
                progress.pin = progress.pin.map(|pin| pin.min(seq));
                if progress.at.is_some_and(|at| at > seq) && progress.pin.is_none() {
                    progress.pin = Some(seq);
                }
            }
        }
    }

    /// Ends the pass: the next one begins at the cursors.
    pub(crate) fn end_pass(&mut self) {
        for progress in self.sources.values_mut() {
            if let Some(at) = progress.at.take() {
                progress.cursor = progress.pin.take().unwrap_or(at);
            }
            progress.passed = false;
            self.highest = self.highest.max(progress.cursor);
        }
    }
}

/// An old event that an earlier pass had to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) seq: i64,
    pub(crate) received_at: Timestamp,
}
