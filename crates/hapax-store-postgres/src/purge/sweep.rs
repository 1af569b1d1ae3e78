//! Small tables: bodies, the audit trail, jobs that are over, and lanes that nobody uses.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt;

use super::lock;
use crate::Options;
use crate::bind::{Column, bind};
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
    DELETE FROM hapax.bodies WHERE (bucket, scope, raw_hash) IN
        (SELECT bucket, scope, raw_hash FROM hapax.bodies WHERE until < $1::int8 ORDER BY until LIMIT $2::int8
         FOR UPDATE SKIP LOCKED)";

const AUDIT: &str = "
    DELETE FROM hapax.audit WHERE no IN
        (SELECT no FROM (SELECT no, at FROM hapax.audit ORDER BY no LIMIT $2::int8) AS a WHERE at < $1::int8)";

const REPLAYS: &str = "
    DELETE FROM hapax.replays WHERE id IN
        (SELECT id FROM (SELECT id, state, changed_at FROM hapax.replays ORDER BY id LIMIT $2::int8) AS r
         WHERE changed_at < $1::int8 AND state <> 'running')";

const LANES: &str = "
    SELECT bucket, destination, lane, used_at FROM hapax.lanes
    WHERE (bucket, destination, lane) > ($1::int2, $2::text, $3::text)
    ORDER BY bucket, destination, lane LIMIT $4::int8";

// Whoever waits for the row finds it gone and makes it again.
const DELETE_LANES: &str = "
    DELETE FROM hapax.lanes WHERE (bucket, destination, lane) IN
        (SELECT l.bucket, l.destination, l.lane
         FROM unnest($1::int2[], $2::text[], $3::text[]) AS n (bucket, destination, lane)
         JOIN hapax.lanes l ON l.bucket = n.bucket AND l.destination = n.destination AND l.lane = n.lane
         WHERE l.used_at < $4::int8
         FOR UPDATE OF l SKIP LOCKED)";

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
    session.execute(BODIES, bind![now.as_micros(), ROWS]).await?;
    session
        .execute(AUDIT, bind![now.minus(terms.audit_keep).as_micros(), ROWS])
        .await?;
    session
        .execute(REPLAYS, bind![now.minus(terms.replay_keep).as_micros(), ROWS])
        .await?;
    let (bucket, destination, lane) = &terms.from;
    let rows = session
        .rows(LANES, bind![*bucket, destination.as_str(), lane.as_str(), ROWS])
        .await?;
    let unused = now.minus(LANE_KEEP).as_micros();
    let mut buckets = Column::<i16>::default();
    let mut destinations = Column::<String>::default();
    let mut keys = Column::<String>::default();
    let mut position = None;
    for row in &rows {
        if row.try_get::<_, i64>(3)? < unused {
            buckets.push(row.try_get(0)?);
            destinations.push(row.try_get(1)?);
            keys.push(row.try_get(2)?);
        }
        position = Some((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    }
    if !buckets.is_empty() {
        session
            .execute(DELETE_LANES, bind![buckets, destinations, keys, unused])
            .await?;
    }
    session.commit().await?;
    Ok(position.filter(|_| rows.len() as i64 == ROWS))
}
