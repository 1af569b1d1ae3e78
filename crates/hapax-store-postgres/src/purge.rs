//! Deleting what has outlived its window, a few rows in each transaction, never under a lock that an
//! accept waits for.
//!
//! Payloads are found by source in order of arrival. A pass goes once over what is old, from a cursor
//! of each source: what must stay (unfinished, or a dead letter) is looked at again in the next pass.

mod remove;
mod sweep;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use hapax_core::SourceName;
use hapax_core::store::{PurgeOrder, PurgeWindow, Purged};
use uuid::Uuid;

use crate::failure::Failure;
use crate::session::Session;
use crate::step::Runner;
use crate::{Options, bind};

/// Rows deleted in one transaction at most.
const CHUNK: u32 = 128;
/// Rows looked at in one transaction at most.
const SCAN_ROWS: usize = 512;

/// How far the running pass has come, and the sweep of the small tables, in memory.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    sources: Mutex<HashMap<SourceName, Position>>,
    lanes: Mutex<Option<sweep::LanePosition>>,
}

/// Where in a source's events a pass stands: time of arrival and id of the last one looked at.
type Position = (i64, Uuid);

/// One transaction's share of a window.
struct Chunk {
    window: PurgeWindow,
    from: Position,
    deletes_max: u32,
    scan_max: usize,
}

/// What a chunk did.
struct Done {
    events: u64,
    scanned: usize,
    /// Where to go on; none at the end of the window.
    position: Option<Position>,
}

/// Deletes at most about as many rows as the order says.
pub(crate) async fn purge(
    runner: &Runner,
    progress: &Progress,
    options: &Options,
    order: PurgeOrder,
) -> Result<Purged, Failure> {
    let mut purged = Purged::default();
    let mut scan = options.purge_scan_max;
    let mut unfinished = false;
    for window in &order.windows {
        unfinished |= !sweep_window(runner, progress, window, order.limit, &mut scan, &mut purged).await?;
    }
    if !unfinished {
        lock(&progress.sources).clear();
    }
    let room = room(order.limit, &purged);
    let expired = runner
        .run(&(order.ledger_before, room.min(CHUNK)), |session, input| {
            remove::expired_ledger(session, input).boxed()
        })
        .await?;
    purged.ledger += expired;
    let ledger_left = room == 0 || expired >= u64::from(room.min(CHUNK));
    sweep::sweep(runner, &progress.lanes, options).await?;
    purged.more = unfinished || ledger_left;
    Ok(purged)
}

/// Goes on with a window; whether its end was reached.
async fn sweep_window(
    runner: &Runner,
    progress: &Progress,
    window: &PurgeWindow,
    limit: u32,
    scan: &mut usize,
    purged: &mut Purged,
) -> Result<bool, Failure> {
    loop {
        let room = room(limit, purged);
        if room == 0 || *scan == 0 {
            return Ok(false);
        }
        let from = lock(&progress.sources).get(&window.source).copied();
        let chunk = Chunk {
            window: window.clone(),
            from: from.unwrap_or((i64::MIN, Uuid::nil())),
            deletes_max: room.min(CHUNK),
            scan_max: SCAN_ROWS.min(*scan),
        };
        let done = runner
            .run(&chunk, |session, chunk| delete(session, chunk).boxed())
            .await?;
        purged.events += done.events;
        *scan = scan.saturating_sub(done.scanned.max(1));
        // At its end for this pass: what comes later is the next one's.
        let position = done.position.unwrap_or((i64::MAX, Uuid::max()));
        lock(&progress.sources).insert(window.source.clone(), position);
        if done.position.is_none() {
            return Ok(true);
        }
    }
}

const CANDIDATES: &str = "
    SELECT e.bucket, e.id, e.received_at
    FROM hapax.events e /* every bucket */
    WHERE e.source = $1::text AND e.received_at < $2::int8 AND (e.received_at, e.id) > ($3::int8, $4::uuid)
    ORDER BY e.received_at, e.id LIMIT $5::int8";

async fn delete(session: &Session, chunk: &Chunk) -> Result<Done, Failure> {
    let window = &chunk.window;
    let rows = session
        .rows(
            CANDIDATES,
            bind::bind![
                window.source.as_str(),
                window.payload_before.as_micros(),
                chunk.from.0,
                chunk.from.1,
                chunk.scan_max as i64,
            ],
        )
        .await?;
    let seen: Vec<(i16, Uuid)> = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Failure>>()?;
    let may_go = remove::may_go(session, &seen, window.dead_before).await?;
    let mut doomed: Vec<(i16, Uuid)> = Vec::new();
    let mut position = chunk.from;
    let mut scanned = 0;
    for (row, name) in rows.iter().zip(seen) {
        if doomed.len() >= chunk.deletes_max as usize {
            break;
        }
        scanned += 1;
        position = (row.try_get(2)?, name.1);
        if may_go.contains(&name) {
            doomed.push(name);
        }
    }
    let is_end = scanned == rows.len() && rows.len() < chunk.scan_max;
    let events = if doomed.is_empty() {
        0
    } else {
        remove::events(session, &doomed, window.dead_before).await?
    };
    Ok(Done {
        events,
        scanned,
        position: (!is_end).then_some(position),
    })
}

fn room(limit: u32, purged: &Purged) -> u32 {
    let deleted = purged.events + purged.ledger;
    limit.saturating_sub(u32::try_from(deleted).unwrap_or(u32::MAX))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
