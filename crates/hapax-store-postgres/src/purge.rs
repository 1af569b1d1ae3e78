//! Deleting events and ledger entries past their window, some rows per transaction, as fast as events arrive.
//!
//! A *part* is what one transaction works on: some of the buckets, or, if tables are distributed, one bucket, so that
//! every statement goes to one server and that server commits alone. A transaction never waits: it skips locked rows,
//! and leaves them to the transaction that holds them (such as another replica's purge) or to the next pass.

mod chunk;
mod pass;
mod remove;
mod sweep;
mod transaction;

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use hapax_core::store::{PurgeOrder, Purged};
use tokio::sync::Mutex;

use crate::failure::Failure;
use crate::pool::BUCKETS;
use crate::step::Runner;
use crate::{Options, Spread};
use chunk::{Chunk, Slice};
use pass::Part;
use transaction::{Done, Forgot};

/// The maximum number of rows of a kind deleted in one transaction.
const CHUNK: u32 = 1_000;
/// The number of parts if all tables are on one server.
const SLICES: i16 = 3;
/// Parts processed concurrently, each on its own connection. A single one, competing with accepts, gets too little of
/// the server's CPU to keep up with them.
const AT_ONCE: usize = 3;
/// How often small tables are swept when there is always something else to delete.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// The progress of purges, in memory.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    parts: Vec<Part>,
    /// The part whose turn is next.
    turn: usize,
    /// Whether this pass has deleted anything.
    has_deleted: bool,
    lanes: Option<sweep::LanePosition>,
    swept: Option<Instant>,
}

/// What a call may still do.
struct Budget {
    events: u32,
    ledger: u32,
    /// Events that may still be examined.
    looks: usize,
}

impl Budget {
    const fn is_spent(&self) -> bool {
        self.events == 0 || self.ledger == 0 || self.looks == 0
    }

    /// The share of each of `among` parts.
    fn share(&self, among: usize) -> Self {
        let rows = u32::try_from(among).unwrap_or(u32::MAX);
        Self {
            events: (self.events / rows).max(1),
            ledger: (self.ledger / rows).max(1),
            looks: (self.looks / among).max(1),
        }
    }
}

/// Deletes approximately up to the limit of events, and of ledger entries. Each kind has its own share: ledger entries
/// are deleted even while payloads lag behind.
pub(crate) async fn purge(
    runner: &Runner,
    progress: &Progress,
    options: &Options,
    order: PurgeOrder,
) -> Result<Purged, Failure> {
    let mut state = progress.0.lock().await;
    let state = &mut *state;
    if state.parts.is_empty() {
        state.parts = parts(runner.terms.spread());
        // Replicas begin at different parts.
        state.turn = fastrand::usize(..state.parts.len());
    }
    let mut purged = Purged::default();
    let mut budget = Budget {
        events: order.limit,
        ledger: order.limit,
        looks: options.purge_scan_max,
    };
    for part in &mut state.parts {
        part.begin_pass(&order);
    }
    let is_over = loop {
        if budget.is_spent() {
            break false;
        }
        let most = AT_ONCE.min(budget.events.min(budget.ledger) as usize);
        let chosen = next(&state.parts, &mut state.turn, most);
        if chosen.is_empty() {
            break true;
        }
        let share = budget.share(chosen.len());
        let chunks: Vec<Chunk> = chosen
            .iter()
            .map(|at| state.parts[*at].chunk(&order, &share))
            .collect();
        let runs = chunks.iter().map(|chunk| run(runner, chunk));
        let outcomes = try_join_all(runs).await?;
        for ((at, chunk), (done, forgot)) in chosen.into_iter().zip(&chunks).zip(outcomes) {
            purged.events += done.events;
            purged.ledger += forgot.ledger.found;
            budget.events = budget.events.saturating_sub(rows(done.events));
            budget.ledger = budget.ledger.saturating_sub(rows(forgot.ledger.found));
            budget.looks = budget.looks.saturating_sub(done.looked.max(1));
            state.parts[at].has_done(chunk, done, &forgot);
        }
    };
    state.has_deleted |= purged.events + purged.ledger > 0;
    purged.more = !is_over;
    if is_over {
        // Rows that expired since the pass began are left to the next one.
        let mut moved = false;
        for part in &mut state.parts {
            moved |= part.end_pass(&order);
        }
        purged.more = moved && std::mem::take(&mut state.has_deleted);
    }
    if is_over || state.swept.is_none_or(|swept| swept.elapsed() >= SWEEP_EVERY) {
        purged.more |= sweep::sweep(runner, &mut state.lanes, options, order.limit).await?;
        state.swept = Some(Instant::now());
    }
    Ok(purged)
}

/// Deletes a part's events, and then expired ledger entries.
async fn run(runner: &Runner, chunk: &Chunk) -> Result<(Done, Forgot), Failure> {
    let done = runner
        .run(chunk, |session, chunk| {
            transaction::events(session, chunk).boxed()
        })
        .await?;
    let forgot = runner
        .run(chunk, |session, chunk| {
            transaction::ledger(session, chunk).boxed()
        })
        .await?;
    Ok((done, forgot))
}

fn parts(spread: Spread) -> Vec<Part> {
    let slices: Vec<Slice> = match spread {
        Spread::Whole => (0..SLICES)
            .map(|rest| Slice::Every { of: SLICES, rest })
            .collect(),
        Spread::ByBucket => (0..BUCKETS).map(Slice::Bucket).collect(),
    };
    slices.into_iter().map(Part::new).collect()
}

/// The next parts with something left in this pass.
fn next(parts: &[Part], turn: &mut usize, most: usize) -> Vec<usize> {
    let count = parts.len();
    let from = *turn;
    let chosen: Vec<usize> = (from..from + count)
        .map(|at| at % count)
        .filter(|at| !parts[*at].is_over())
        .take(most)
        .collect();
    if let Some(last) = chosen.last() {
        *turn = (last + 1) % count;
    }
    chosen
}

fn rows(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
