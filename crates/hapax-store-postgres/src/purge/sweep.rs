//! Small tables: the audit trail, finished jobs, and unused lanes.

use std::time::Duration;

use futures_util::FutureExt;
use hapax_core::Timestamp;
use tokio_postgres::Row;

use super::CHUNK;
use crate::Options;
use crate::audit;
use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::session::Session;
use crate::step::Runner;

/// A lane's lock row is deleted when it was not used for this long. The time is short: if every event has its own key,
/// there are as many rows as events, and each sweep goes through all of them.
const LANE_KEEP: Duration = Duration::from_secs(600);

/// The last lane that was examined.
pub(super) type LanePosition = (i16, String, String);

const REPLAYS: &str = "
    DELETE FROM hapax.replays WHERE id IN
        (SELECT id FROM (SELECT id, state, changed_at FROM hapax.replays ORDER BY id LIMIT $2::int8) AS r
         WHERE changed_at < $1::int8 AND state <> 'running')
    RETURNING id";

const LANES: &str = "
    SELECT bucket, destination, lane, used_at FROM hapax.lanes /* every bucket */
    WHERE (bucket, destination, lane) > ($1::int2, $2::text, $3::text)
    ORDER BY bucket, destination, lane LIMIT $4::int8";

// A transaction that waits for the row finds it gone and creates it again.
const LOCK_LANES: &str = "
    SELECT l.bucket, l.destination, l.lane
    FROM {n} JOIN hapax.lanes l ON l.bucket = {bucket} AND l.destination = n.destination AND l.lane = n.lane
    WHERE l.used_at < $4::int8 FOR UPDATE OF l SKIP LOCKED";

const DELETE_LANES: &str = "
    DELETE FROM hapax.lanes AS l
    USING {n} WHERE l.bucket = {bucket} AND l.destination = n.destination AND l.lane = n.lane";

struct Terms {
    replay_keep: Duration,
    rows: i64,
    from: LanePosition,
}

/// The result of a sweep.
struct Swept {
    lanes: Option<LanePosition>,
    more: bool,
}

/// Sweeps some rows of each table. Returns whether there is more to delete.
pub(super) async fn sweep(
    runner: &Runner,
    lanes: &mut Option<LanePosition>,
    options: &Options,
    limit: u32,
) -> Result<bool, Failure> {
    let terms = Terms {
        replay_keep: options.replay_keep,
        rows: i64::from(limit.min(CHUNK)),
        from: lanes.take().unwrap_or((-1, String::new(), String::new())),
    };
    let swept = runner
        .run(&terms, |session, terms| run(session, terms).boxed())
        .await?;
    *lanes = swept.lanes;
    Ok(swept.more)
}

async fn run(session: &Session, terms: &Terms) -> Result<Swept, Failure> {
    let now = session.begin_at().await?;
    let audit = audit::purge(session, now, terms.rows).await?;
    let replays = session
        .rows(
            REPLAYS,
            bind![now.minus(terms.replay_keep).as_micros(), terms.rows],
        )
        .await?;
    let (lanes, unused) = lanes(session, terms, now).await?;
    session.commit().await?;
    let rows = terms.rows as usize;
    Ok(Swept {
        more: audit || replays.len() == rows || (lanes.is_some() && unused > 0),
        lanes,
    })
}

/// Continues the sweep over the lanes. Returns its position, unless it reached the end, and the number of deleted rows.
async fn lanes(
    session: &Session,
    terms: &Terms,
    now: Timestamp,
) -> Result<(Option<LanePosition>, usize), Failure> {
    let (bucket, destination, lane) = &terms.from;
    let rows = session
        .rows(
            LANES,
            bind![*bucket, destination.as_str(), lane.as_str(), terms.rows],
        )
        .await?;
    let unused = now.minus(LANE_KEEP).as_micros();
    let mut old: Vec<LanePosition> = Vec::new();
    let mut position = None;
    for row in &rows {
        let name = lane_at(row)?;
        if row.try_get::<_, i64>(3)? < unused {
            old.push(name.clone());
        }
        position = Some(name);
    }
    let locked = session.over(LOCK_LANES, &names(&old).value(unused)).await?;
    let locked: Vec<LanePosition> = locked.iter().map(lane_at).collect::<Result<_, Failure>>()?;
    session.write(DELETE_LANES, &names(&locked)).await?;
    let position = position.filter(|_| rows.len() as i64 == terms.rows);
    Ok((position, locked.len()))
}

fn lane_at(row: &Row) -> Result<LanePosition, Failure> {
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}

fn names(lanes: &[LanePosition]) -> Batch<'_> {
    Batch::in_buckets(lanes.iter().map(|(bucket, ..)| *bucket))
        .column(
            "destination",
            lanes.iter().map(|(_, destination, _)| destination.as_str()),
        )
        .column("lane", lanes.iter().map(|(.., lane)| lane.as_str()))
}
