//! The transactions of a purge in one part: one deletes events, another ledger entries and bodies.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::chunk::{Chunk, Position, Seen, Slice, Window};
use super::remove::{self, Doomed, Expired};
use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::session::Session;
use crate::tallies::Tallies;

/// How far a source was examined.
#[derive(Clone, Copy)]
pub(super) struct Reached {
    pub(super) last: Option<Position>,
    pub(super) is_end: bool,
}

/// The result for events.
pub(super) struct Done {
    pub(super) events: u64,
    pub(super) looked: usize,
    /// One element per window that was examined.
    pub(super) reached: Vec<Option<Reached>>,
    pub(super) stays: Vec<Seen>,
    /// The earliest expiry of an entry whose last event was deleted.
    pub(super) orphans_from: Option<i64>,
}

/// The result for ledger entries and bodies.
#[derive(Default)]
pub(super) struct Forgot {
    pub(super) ledger: Expired,
    pub(super) bodies: Expired,
}

// Each source by its index, which has the right order, from where the last transaction stopped. `state + 0`: dead
// letters are looked up by the event's key, not in the index of all dead letters.
macro_rules! old_events {
    ($bucket:literal, $only:literal) => {
        concat!(
            "
    SELECT e.bucket, e.id, e.received_at, n.no,
           NOT EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = ",
            $bucket,
            " AND w.id = e.id)
           AND NOT EXISTS (SELECT 1 FROM hapax.outcomes o
                           WHERE o.bucket = ",
            $bucket,
            " AND o.id = e.id AND o.is_current AND o.state + 0 >= 4 AND o.finished_at >= n.dead_before)
    FROM unnest($1::text[], $2::int8[], $3::int8[], $4::int8[], $5::uuid[]) WITH ORDINALITY
         AS n (source, before, dead_before, from_at, from_id, no)
    CROSS JOIN LATERAL (SELECT t.bucket, t.id, t.received_at FROM hapax.events t
                        WHERE t.source = n.source AND t.received_at < n.before
                          AND (t.received_at, t.id) > (n.from_at, n.from_id)",
            $only,
            "
                        ORDER BY t.received_at, t.id LIMIT $6::int8) AS e"
        )
    };
}

const OLD_EVENTS: &str = old_events!("e.bucket", " AND t.bucket % $7::int2 = $8::int2");
const OLD_EVENTS_IN_BUCKET: &str = old_events!("$7::int2", " AND t.bucket = $7::int2");

pub(super) async fn events(session: &Session, chunk: &Chunk) -> Result<Done, Failure> {
    let now = session.begin_at().await?;
    let mut look = Look::default();
    look.again(session, chunk).await?;
    let reached = look.further(session, chunk).await?;
    let mut tallies = Tallies::default();
    let gone = remove::events(session, &look.doomed, now, &mut tallies).await?;
    look.stays.extend(gone.held);
    flush(session, chunk, &tallies).await?;
    session.commit().await?;
    Ok(Done {
        events: gone.events,
        looked: look.looked,
        reached,
        stays: look.stays,
        orphans_from: gone.orphans_from,
    })
}

/// Deletes expired ledger entries and bodies.
pub(super) async fn ledger(session: &Session, chunk: &Chunk) -> Result<Forgot, Failure> {
    if chunk.ledger_max == 0 && chunk.bodies_max == 0 {
        return Ok(Forgot::default());
    }
    let now = session.begin_at().await?;
    let mut tallies = Tallies::default();
    let ledger = remove::expired_ledger(session, chunk, &mut tallies).await?;
    let bodies = remove::expired_bodies(session, chunk, now).await?;
    flush(session, chunk, &tallies).await?;
    session.commit().await?;
    Ok(Forgot { ledger, bodies })
}

async fn flush(session: &Session, chunk: &Chunk, tallies: &Tallies) -> Result<(), Failure> {
    match chunk.slice {
        // In the bucket of the rows that it counts, so that one server commits alone.
        Slice::Bucket(bucket) => tallies.flush_in(session, bucket).await,
        Slice::Every { .. } => tallies.flush(session).await,
    }
}

/// The events found.
#[derive(Default)]
struct Look {
    looked: usize,
    doomed: Vec<Doomed>,
    stays: Vec<Seen>,
}

impl Look {
    /// Checks events that had to stay.
    async fn again(&mut self, session: &Session, chunk: &Chunk) -> Result<(), Failure> {
        let windows: BTreeMap<&str, &Window> = chunk
            .windows
            .iter()
            .map(|window| (window.source.as_str(), window))
            .collect();
        let mut old = Vec::new();
        for seen in &chunk.revisit {
            match windows.get(seen.source.as_str()) {
                Some(window) if seen.received_at < window.payload_before.as_micros() => old.push(Doomed {
                    seen: seen.clone(),
                    dead_before: window.dead_before,
                }),
                // The window may have been lengthened since.
                Some(_) | None => self.stays.push(seen.clone()),
            }
        }
        self.looked += chunk.revisit.len();
        let standing = remove::standing(session, &old).await?;
        for event in old {
            match standing.get(&event.name()) {
                Some(true) => self.doomed.push(event),
                Some(false) => self.stays.push(event.seen),
                None => {}
            }
        }
        Ok(())
    }

    /// Examines the next events of each source. Returns how far it got.
    async fn further(&mut self, session: &Session, chunk: &Chunk) -> Result<Vec<Option<Reached>>, Failure> {
        let mut reached: Vec<Option<Reached>> = chunk.windows.iter().map(|_| None).collect();
        let open: Vec<(usize, &Window, Position)> = chunk
            .windows
            .iter()
            .enumerate()
            .filter_map(|(number, window)| Some((number, window, window.from?)))
            .collect();
        if open.is_empty() {
            return Ok(reached);
        }
        let windows = || open.iter().map(|(_, window, _)| *window);
        let sources: Column<&str> = windows().map(|window| window.source.as_str()).collect();
        let before: Column<i64> = windows().map(|window| window.end.as_micros()).collect();
        let dead_before: Column<i64> = windows().map(|window| window.dead_before.as_micros()).collect();
        let from_at: Column<i64> = open.iter().map(|(.., from)| from.0).collect();
        let from_id: Column<Uuid> = open.iter().map(|(.., from)| from.1).collect();
        let share = chunk.share as i64;
        let rows = match chunk.slice {
            Slice::Every { of, rest } => {
                let params = bind![sources, before, dead_before, from_at, from_id, share, of, rest];
                session.rows(OLD_EVENTS, params).await?
            }
            Slice::Bucket(bucket) => {
                let params = bind![sources, before, dead_before, from_at, from_id, share, bucket];
                session.rows(OLD_EVENTS_IN_BUCKET, params).await?
            }
        };
        let mut counts = vec![0; open.len()];
        let mut last: Vec<Option<Position>> = vec![None; open.len()];
        for row in &rows {
            let at = row.try_get::<_, i64>(3)? as usize - 1;
            let Some((_, window, _)) = open.get(at) else {
                continue;
            };
            let seen = Seen {
                source: window.source.clone(),
                bucket: row.try_get(0)?,
                id: row.try_get(1)?,
                received_at: row.try_get(2)?,
            };
            counts[at] += 1;
            last[at] = last[at].max(Some((seen.received_at, seen.id)));
            if row.try_get(4)? {
                self.doomed.push(Doomed {
                    seen,
                    dead_before: window.dead_before,
                });
            } else {
                self.stays.push(seen);
            }
        }
        self.looked += rows.len();
        for (at, (number, ..)) in open.iter().enumerate() {
            reached[*number] = Some(Reached {
                last: last[at],
                is_end: counts[at] < chunk.share,
            });
        }
        Ok(reached)
    }
}
