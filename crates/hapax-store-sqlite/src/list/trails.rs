//! Trails: index ranges that yield events in list order. Several are merged into one.

use std::collections::VecDeque;

use hapax_core::store::ListOrder;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::Range;
use crate::failure::Failure;

/// Trails walked at once; if there would be more, all events are read instead.
pub(super) const TRAILS_MAX: usize = 256;
/// Rows read ahead, over all trails together.
const AHEAD: usize = 256;
/// Minimum rows read ahead per trail, however many trails there are.
const AHEAD_MIN: usize = 8;

/// One trail.
#[derive(Debug)]
pub(super) struct Trail {
    /// Selects at most `?3` row numbers from `?1` up to but excluding `?2`, highest first; further parameters follow.
    sql: &'static str,
    asks: Vec<Value>,
    /// Rows read ahead, in list order.
    ahead: VecDeque<i64>,
    /// The range still to be read; `None` at the end.
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

    /// The next row of the trail.
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

/// Several trails, merged.
#[derive(Debug)]
pub(super) struct Trails {
    all: Vec<Trail>,
    order: ListOrder,
    ahead: usize,
}

impl Trails {
    /// Trails over a range.
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

    /// A trail of rows that are already known.
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

    /// The next row. A row on several trails is returned once.
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
