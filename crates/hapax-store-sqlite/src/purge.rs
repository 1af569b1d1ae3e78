//! Deleting events and ledger entries past their window, in chunks of a few milliseconds; accepts continue in between.
//!
//! Payloads are found in order of acceptance, from one cursor per source, so that a source with a long window does not
//! make every pass read its events again. Old events that must stay (unfinished deliveries, dead letters) are
//! remembered and checked again in the next pass.

mod remove;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hapax_core::store::{PurgeOrder, PurgeWindow, Purged};
use hapax_core::{EventId, Timestamp};

use crate::audit;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::purge_progress::Kept;

/// How long deleting payloads may take in one transaction, so that no accept waits long behind it.
const EVENTS_TIME: Duration = Duration::from_millis(8);
/// The same for ledger entries, which touch fewer pages.
const LEDGER_TIME: Duration = Duration::from_millis(4);
/// What a chunk counts for among the items of a transaction.
pub(crate) const CHUNK_ITEMS: usize = 128;
/// Rows read at a time.
const SCAN_ROWS: usize = 512;
/// Old events that must stay, remembered per source.
const KEPT_MAX: usize = 10_000;
/// Rows of each small table deleted in one transaction.
const SMALL_ROWS: u32 = 256;
/// Later than any event; its order still fits a row number.
const FAR: Timestamp = Timestamp::from_seconds(8_000_000_000);

/// One transaction's share of a purge.
pub(crate) struct Chunk {
    pub(crate) order: Arc<PurgeOrder>,
    /// The maximum number of payloads to delete.
    pub(crate) events: u64,
    /// The maximum number of ledger entries to delete: a separate share, so that they are deleted even while payloads
    /// lag behind.
    pub(crate) ledger: u64,
    pub(crate) scan: usize,
}

/// The result of a chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) purged: Purged,
    pub(crate) scanned: usize,
    deadline: Option<Instant>,
}

impl Done {
    /// Whether there is time and room for another payload. The first one always fits.
    fn goes_on(&self, chunk: &Chunk) -> bool {
        let in_time = || self.deadline.is_none_or(|deadline| Instant::now() < deadline);
        self.scanned < chunk.scan && self.purged.events < chunk.events && (self.scanned == 0 || in_time())
    }
}

/// A source's window with the source's number.
struct Window<'o> {
    source: i64,
    terms: &'o PurgeWindow,
    /// Rows from here on are too young.
    end: i64,
}

pub(crate) fn purge(desk: &mut Desk<'_>, chunk: &Chunk) -> Result<Done, Failure> {
    let mut done = Done {
        deadline: Some(Instant::now() + EVENTS_TIME),
        ..Done::default()
    };
    let windows = windows(desk, &chunk.order)?;
    begin_pass(desk, &windows);
    for window in &windows {
        revisit(desk, window, chunk, &mut done)?;
    }
    while done.goes_on(chunk) {
        if !scan(desk, &windows, chunk, &mut done)? {
            break;
        }
    }
    let passed = windows.iter().all(|window| {
        desk.state
            .purge
            .sources
            .get(&window.source)
            .is_none_or(|progress| progress.passed && progress.revisit == 0)
    });
    if passed {
        desk.state.purge.end_pass();
    }
    let deadline = Instant::now() + LEDGER_TIME;
    let before = chunk.order.ledger_before;
    let left = remove::expired_ledger(desk, before, chunk.ledger, deadline, &mut done.purged)?;
    let small_left = small_tables(desk)?;
    done.purged.more = !passed || left || small_left;
    Ok(done)
}

fn windows<'o>(desk: &mut Desk<'_>, order: &'o PurgeOrder) -> Result<Vec<Window<'o>>, Failure> {
    let slack = Duration::from_millis(desk.skew_ms()?.saturating_add(1));
    let mut windows = Vec::with_capacity(order.windows.len());
    for window in &order.windows {
        if let Some(source) = desk.find_name(window.source.as_str())? {
            let end = EventId::order_at(window.payload_before.plus(slack).min(FAR)) as i64;
            windows.push(Window {
                source,
                terms: window,
                end,
            });
        }
    }
    Ok(windows)
}

fn begin_pass(desk: &mut Desk<'_>, windows: &[Window<'_>]) {
    for window in windows {
        let progress = desk.state.purge.sources.entry(window.source).or_default();
        if progress.at.is_none() {
            progress.at = Some(progress.cursor);
            progress.revisit = progress.kept.len();
        }
    }
}

/// Checks old events that had to stay.
fn revisit(desk: &mut Desk<'_>, window: &Window<'_>, chunk: &Chunk, done: &mut Done) -> Result<(), Failure> {
    while done.goes_on(chunk) {
        let progress = desk.state.purge.sources.entry(window.source).or_default();
        if progress.revisit == 0 {
            break;
        }
        progress.revisit -= 1;
        let Some(kept) = progress.kept.pop_front() else {
            break;
        };
        done.scanned += 1;
        // The window may have been lengthened since.
        let is_old = kept.received_at < window.terms.payload_before;
        if is_old && remove::may_go(desk, kept.seq, window.terms.dead_before)? {
            if remove::remove(desk, kept.seq)? {
                done.purged.events += 1;
            }
        } else {
            let progress = desk.state.purge.sources.entry(window.source).or_default();
            progress.kept.push_back(kept);
        }
    }
    Ok(())
}

/// Examines the next rows of the sources that are furthest behind. Returns whether there were any.
fn scan(
    desk: &mut Desk<'_>,
    windows: &[Window<'_>],
    chunk: &Chunk,
    done: &mut Done,
) -> Result<bool, Failure> {
    let positions: Vec<(i64, &Window<'_>)> = windows
        .iter()
        .filter_map(|window| {
            let progress = desk.state.purge.sources.get(&window.source)?;
            (!progress.passed).then_some((progress.at.unwrap_or(progress.cursor), window))
        })
        .collect();
    let Some(start) = positions.iter().map(|(at, _)| *at).min() else {
        return Ok(false);
    };
    let group: HashMap<i64, &Window<'_>> = positions
        .iter()
        .filter(|(at, _)| *at == start)
        .map(|(_, window)| (window.source, *window))
        .collect();
    let nearest_end = group.values().map(|window| window.end).min().unwrap_or(start);
    let next_start = positions.iter().map(|(at, _)| *at).filter(|at| *at > start).min();
    let end = next_start
        .map_or(nearest_end, |next| next.min(nearest_end))
        .max(start);

    let rows_max = SCAN_ROWS.min(chunk.scan - done.scanned);
    let rows = read_rows(desk, start, end, rows_max)?;
    let exhausted = rows.len() < rows_max;
    let mut reached = if exhausted { end } else { start };
    for row in rows {
        if !done.goes_on(chunk) {
            reached = row.seq;
            break;
        }
        done.scanned += 1;
        if let Some(window) = group.get(&row.source) {
            examine(desk, &row, window, done)?;
        }
        reached = reached.max(row.seq + 1);
    }
    for window in group.values() {
        let progress = desk.state.purge.sources.entry(window.source).or_default();
        progress.at = Some(reached);
        progress.passed = reached >= window.end;
    }
    Ok(true)
}

struct Row {
    seq: i64,
    source: i64,
    received_at: Timestamp,
}

fn read_rows(desk: &Desk<'_>, start: i64, end: i64, rows_max: usize) -> Result<Vec<Row>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT seq, source, received_at FROM events WHERE seq >= ?1 AND seq < ?2 ORDER BY seq LIMIT ?3",
    )?;
    let rows = select.query_map((start, end, rows_max as i64), |row| {
        Ok(Row {
            seq: row.get(0)?,
            source: row.get(1)?,
            received_at: Timestamp::from_micros(row.get(2)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn examine(desk: &mut Desk<'_>, row: &Row, window: &Window<'_>, done: &mut Done) -> Result<(), Failure> {
    if row.received_at >= window.terms.payload_before {
        let progress = desk.state.purge.sources.entry(row.source).or_default();
        progress.pin = Some(progress.pin.unwrap_or(row.seq).min(row.seq));
        return Ok(());
    }
    if remove::may_go(desk, row.seq, window.terms.dead_before)? {
        if remove::remove(desk, row.seq)? {
            done.purged.events += 1;
        }
        return Ok(());
    }
    let progress = desk.state.purge.sources.entry(row.source).or_default();
    if progress.kept.len() >= KEPT_MAX {
        progress.pin = Some(progress.pin.unwrap_or(row.seq).min(row.seq));
    } else if progress.pin.is_none_or(|pin| row.seq < pin) {
        progress.kept.push_back(Kept {
            seq: row.seq,
            received_at: row.received_at,
        });
    }
    Ok(())
}

/// Deletes old bodies, audit entries and finished jobs. Returns whether there may be more.
fn small_tables(desk: &mut Desk<'_>) -> Result<bool, Failure> {
    let now = desk.now();
    let mut left = false;
    for (sql, before) in [
        (
            "DELETE FROM bodies WHERE (scope, raw_hash) IN
                 (SELECT scope, raw_hash FROM bodies WHERE until < ?1 ORDER BY until LIMIT ?2)",
            now,
        ),
        (
            "DELETE FROM replays WHERE no IN
                 (SELECT no FROM (SELECT no, state, changed_at FROM replays ORDER BY no LIMIT ?2)
                  WHERE changed_at < ?1 AND state != 'running')",
            now.minus(desk.state.replay_keep),
        ),
    ] {
        let deleted = desk
            .connection
            .prepare_cached(sql)?
            .execute((before.as_micros(), SMALL_ROWS))?;
        left |= deleted == SMALL_ROWS as usize;
    }
    left |= audit::purge(desk, now, SMALL_ROWS)?;
    Ok(left)
}
