//! Trails: ways through an index that lead past events in the order of lists. Several are walked as one.

use std::collections::VecDeque;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::Range;
use crate::failure::Failure;

/// Rows that are read ahead, over all trails.
const AHEAD: usize = 256;
/// Rows that are read ahead of one trail, however many there are.
const AHEAD_MIN: usize = 8;

/// One way.
#[derive(Debug)]
pub(super) struct Trail {
    /// Gives row numbers from `?1` on and before `?2`, the highest first, at most `?3`; what else it asks for follows.
    sql: &'static str,
    asks: Vec<Value>,
    /// Read ahead, the highest first.
    ahead: VecDeque<i64>,
    /// Where to read on; none at the end.
    before: Option<i64>,
}

impl Trail {
    pub(super) fn new(sql: &'static str, asks: Vec<Value>) -> Self {
        Self {
            sql,
            asks,
            ahead: VecDeque::new(),
            before: None,
        }
    }

    /// Where the trail leads next.
    fn head(&mut self, connection: &Connection, from: i64, ahead: usize) -> Result<Option<i64>, Failure> {
        if self.ahead.is_empty()
            && let Some(before) = self.before
        {
            let bounds = [from, before, ahead as i64].map(Value::Integer);
            let mut select = connection.prepare_cached(self.sql)?;
            let found = select.query_map(params_from_iter(bounds.iter().chain(&self.asks)), |row| {
                row.get(0)
            })?;
            self.ahead = found.collect::<Result<_, _>>()?;
            let is_full = self.ahead.len() == ahead;
            self.before = self.ahead.back().copied().filter(|_| is_full);
        }
        Ok(self.ahead.front().copied())
    }
}

/// Several ways at once.
#[derive(Debug)]
pub(super) struct Trails {
    all: Vec<Trail>,
    from: i64,
    ahead: usize,
}

impl Trails {
    /// Those that lead through a range.
    pub(super) fn through(range: Range, mut trails: Vec<Trail>) -> Self {
        for trail in &mut trails {
            trail.before = Some(range.before);
        }
        Self {
            from: range.from,
            ahead: (AHEAD / trails.len().max(1)).max(AHEAD_MIN),
            all: trails,
        }
    }

    /// Rows that are known already.
    pub(super) fn of_rows(range: Range, rows: impl IntoIterator<Item = i64>) -> Self {
        let mut rows: Vec<i64> = rows
            .into_iter()
            .filter(|seq| (range.from..range.before).contains(seq))
            .collect();
        rows.sort_unstable_by(|one, other| other.cmp(one));
        let mut known = Trail::new("", Vec::new());
        known.ahead = rows.into();
        Self {
            all: vec![known],
            from: range.from,
            ahead: AHEAD,
        }
    }

    /// The next row, once, whichever trails lead to it.
    pub(super) fn next(&mut self, connection: &Connection) -> Result<Option<i64>, Failure> {
        let mut highest = None;
        for trail in &mut self.all {
            highest = highest.max(trail.head(connection, self.from, self.ahead)?);
        }
        for trail in &mut self.all {
            while trail.ahead.front().copied() == highest && highest.is_some() {
                trail.ahead.pop_front();
            }
        }
        Ok(highest)
    }
}
