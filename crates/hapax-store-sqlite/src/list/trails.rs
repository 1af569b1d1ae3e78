//! Trails: ways through an index that lead past events in the order of lists. Several are walked as one.

use std::collections::VecDeque;

use hapax_core::store::ListOrder;
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
    /// Read ahead, in the order of the list.
    ahead: VecDeque<i64>,
    /// Where to read on; none at the end.
    rest: Option<Range>,
}

impl Trail {
    pub(super) fn new(sql: &'static str, asks: Vec<Value>) -> Self {
        Self {
            sql,
            asks,
            ahead: VecDeque::new(),
            rest: None,
        }
    }

    /// Where the trail leads next.
    fn head(
        &mut self,
        connection: &Connection,
        order: ListOrder,
        ahead: usize,
    ) -> Result<Option<i64>, Failure> {
        if self.ahead.is_empty()
            && let Some(rest) = self.rest
        {
            let bounds = [rest.from, rest.before, ahead as i64].map(Value::Integer);
            let mut select = match order {
                ListOrder::NewestFirst => connection.prepare_cached(self.sql)?,
                ListOrder::OldestFirst => connection.prepare_cached(&self.sql.replace(" DESC", ""))?,
            };
            let found = select.query_map(params_from_iter(bounds.iter().chain(&self.asks)), |row| {
                row.get(0)
            })?;
            self.ahead = found.collect::<Result<_, _>>()?;
            let is_full = self.ahead.len() == ahead;
            let last = self.ahead.back().filter(|_| is_full);
            self.rest = last.map(|last| rest.after(*last, order));
        }
        Ok(self.ahead.front().copied())
    }
}

/// Several ways at once.
#[derive(Debug)]
pub(super) struct Trails {
    all: Vec<Trail>,
    order: ListOrder,
    ahead: usize,
}

impl Trails {
    /// Those that lead through a range.
    pub(super) fn through(range: Range, order: ListOrder, mut trails: Vec<Trail>) -> Self {
        for trail in &mut trails {
            trail.rest = Some(range);
        }
        Self {
            order,
            ahead: (AHEAD / trails.len().max(1)).max(AHEAD_MIN),
            all: trails,
        }
    }

    /// Rows that are known already.
    pub(super) fn of_rows(range: Range, order: ListOrder, rows: impl IntoIterator<Item = i64>) -> Self {
        let mut rows: Vec<i64> = rows
            .into_iter()
            .filter(|seq| (range.from..range.before).contains(seq))
            .collect();
        rows.sort_unstable();
        if order == ListOrder::NewestFirst {
            rows.reverse();
        }
        let mut known = Trail::new("", Vec::new());
        known.ahead = rows.into();
        Self {
            all: vec![known],
            order,
            ahead: AHEAD,
        }
    }

    /// The next row, once, whichever trails lead to it.
    pub(super) fn next(&mut self, connection: &Connection) -> Result<Option<i64>, Failure> {
        let mut heads = Vec::with_capacity(self.all.len());
        for trail in &mut self.all {
            heads.extend(trail.head(connection, self.order, self.ahead)?);
        }
        let next = match self.order {
            ListOrder::NewestFirst => heads.into_iter().max(),
            ListOrder::OldestFirst => heads.into_iter().min(),
        };
        for trail in &mut self.all {
            while trail.ahead.front().copied() == next && next.is_some() {
                trail.ahead.pop_front();
            }
        }
        Ok(next)
    }
}
