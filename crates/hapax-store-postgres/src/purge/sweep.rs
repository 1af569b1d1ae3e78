//! Small tables: bodies, the audit trail, jobs that are over, and lanes that nobody uses.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt;
use hapax_core::Timestamp;
use tokio_postgres::Row;

use super::lock;
use crate::Options;
use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::session::Session;
use crate::step::Runner;

/// Rows of each table deleted in one sweep.
const ROWS: i64 = 256;
/// A lane's lock that was not taken for so long is not kept.
const LANE_KEEP: Duration = Duration::from_secs(86_400);

/// The last lane that was looked at.
pub(super) type LanePosition = (i16, String, String);

const BODIES: &str = "
    SELECT b.bucket, b.scope, b.raw_hash FROM hapax.bodies b /* every bucket */
    WHERE b.until < $1::int8 ORDER BY b.until LIMIT $2::int8";

const DELETE_BODIES: &str = "
    DELETE FROM hapax.bodies AS b
    USING {n} WHERE b.bucket = {bucket} AND b.scope = n.scope AND b.raw_hash = n.raw_hash AND b.until < $4::int8";

const AUDIT: &str = "
    DELETE FROM hapax.audit WHERE no IN
        (SELECT no FROM (SELECT no, at FROM hapax.audit ORDER BY no LIMIT $2::int8) AS a WHERE at < $1::int8)";

const REPLAYS: &str = "
    DELETE FROM hapax.replays WHERE id IN
        (SELECT id FROM (SELECT id, state, changed_at FROM hapax.replays ORDER BY id LIMIT $2::int8) AS r
         WHERE changed_at < $1::int8 AND state <> 'running')";

const LANES: &str = "
    SELECT bucket, destination, lane, used_at FROM hapax.lanes /* every bucket */
    WHERE (bucket, destination, lane) > ($1::int2, $2::text, $3::text)
    ORDER BY bucket, destination, lane LIMIT $4::int8";

// Whoever waits for the row finds it gone and makes it again.
const LOCK_LANES: &str = "
    SELECT l.bucket, l.destination, l.lane
    FROM {n} JOIN hapax.lanes l ON l.bucket = {bucket} AND l.destination = n.destination AND l.lane = n.lane
    WHERE l.used_at < $4::int8 FOR UPDATE OF l SKIP LOCKED";

const DELETE_LANES: &str = "
    DELETE FROM hapax.lanes AS l
    USING {n} WHERE l.bucket = {bucket} AND l.destination = n.destination AND l.lane = n.lane";

struct Terms {
    audit_keep: Duration,
    replay_keep: Duration,
    from: LanePosition,
}

/// Sweeps a little.
pub(super) async fn sweep(
    runner: &Runner,
    lanes: &Mutex<Option<LanePosition>>,
    options: &Options,
) -> Result<(), Failure> {
    let from = lock(lanes).clone();
    let terms = Terms {
        audit_keep: options.audit_keep,
        replay_keep: options.replay_keep,
        from: from.unwrap_or((-1, String::new(), String::new())),
    };
    let position = runner
        .run(&terms, |session, terms| run(session, terms).boxed())
        .await?;
    *lock(lanes) = position;
    Ok(())
}

async fn run(session: &Session, terms: &Terms) -> Result<Option<LanePosition>, Failure> {
    let now = session.begin_at().await?;
    session
        .execute(AUDIT, bind![now.minus(terms.audit_keep).as_micros(), ROWS])
        .await?;
    session
        .execute(REPLAYS, bind![now.minus(terms.replay_keep).as_micros(), ROWS])
        .await?;
    bodies(session, now).await?;
    let position = lanes(session, &terms.from, now).await?;
    session.commit().await?;
    Ok(position)
}

async fn bodies(session: &Session, now: Timestamp) -> Result<(), Failure> {
    let mut old: Vec<(i16, String, Vec<u8>)> = Vec::new();
    for row in &session.rows(BODIES, bind![now.as_micros(), ROWS]).await? {
        old.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    }
    // In one order: two that sweep at once do not wait for each other in a ring.
    old.sort_unstable();
    let batch = Batch::in_buckets(old.iter().map(|(bucket, ..)| *bucket))
        .column("scope", old.iter().map(|(_, scope, _)| scope.as_str()))
        .column("raw_hash", old.iter().map(|(.., hash)| hash.as_slice()))
        .value(now.as_micros());
    session.write(DELETE_BODIES, &batch).await
}

/// Goes on over the lanes; where it stands.
async fn lanes(
    session: &Session,
    (bucket, destination, lane): &LanePosition,
    now: Timestamp,
) -> Result<Option<LanePosition>, Failure> {
    let rows = session
        .rows(LANES, bind![*bucket, destination.as_str(), lane.as_str(), ROWS])
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
    Ok(position.filter(|_| rows.len() as i64 == ROWS))
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
