//! Erasing events: their contents are deleted at once. Vacuum removes the remains of deleted rows.

use std::collections::{BTreeSet, HashMap, HashSet};

use hapax_core::store::{Erased, Unfinished};
use hapax_core::{EventId, Timestamp};
use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::lanes::{self, LaneName, LanePosition};
use crate::outcome::{Ending, WorkRow, conclude, work_row};
use crate::rows::{bucket_of, erased_headers, uuid_of};
use crate::session::Session;

// Guards against a concurrent replay of the same event.
const LOCK_EVENTS: &str = concat!(
    "SELECT e.id, e.headers = ",
    erased_headers!(),
    " FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
      ORDER BY e.bucket + 0, e.id FOR UPDATE OF e"
);

const LANES: &str = "
    SELECT w.destination, w.lane FROM {n}
    JOIN hapax.work w ON w.bucket = {bucket} AND w.id = n.id WHERE w.lane IS NOT NULL
    UNION
    SELECT o.destination, o.lane FROM {n}
    JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id WHERE o.lane IS NOT NULL AND o.is_current";

const LOCK_WORK: &str = concat!(
    "SELECT ",
    work_row!(),
    " FROM {n} JOIN hapax.work w ON w.bucket = {bucket} AND w.id = n.id
      ORDER BY w.bucket + 0, w.id, w.destination FOR UPDATE OF w"
);

const DISCARD: &str = "
    UPDATE hapax.outcomes AS o SET state = 5, holds = false
    FROM {n} WHERE o.bucket = {bucket} AND o.id = n.id AND o.is_current AND o.state = 4
    RETURNING o.destination, o.lane, o.lane_order, o.bucket, o.id";

const ERASE: &str = concat!(
    "UPDATE hapax.events AS e SET body = ''::bytea, headers = ",
    erased_headers!(),
    " FROM {n} WHERE e.bucket = {bucket} AND e.id = n.id"
);

const SILENCE: &str = "
    UPDATE hapax.attempts AS a SET excerpt = ''::bytea, message = NULL
    FROM {n} WHERE a.bucket = {bucket} AND a.id = n.id";

const DELETE_CONFLICTS: &str = "
    DELETE FROM hapax.conflicts AS c USING {n} WHERE c.bucket = {bucket} AND c.first = n.id";

const DELETE_NOTED: &str = "
    DELETE FROM hapax.noted AS t USING {n} WHERE t.bucket = {bucket} AND t.id = n.id AND t.what = 1";

const DELETE_INDEXED: &str = "
    DELETE FROM hapax.indexed AS t USING {n} WHERE t.bucket = {bucket} AND t.id = n.id";

/// Erases events, each evaluated independently.
pub(crate) async fn erase(
    session: &Session,
    (events, unfinished): &(Vec<EventId>, Unfinished),
) -> Result<Vec<Erased>, Failure> {
    let now = session.begin_at().await?;
    let distinct: BTreeSet<EventId> = events.iter().copied().collect();
    let found = session
        .over(LOCK_EVENTS, &named(distinct.iter().copied()))
        .await?;
    let mut is_erased: HashMap<Uuid, bool> = HashMap::with_capacity(found.len());
    for row in &found {
        is_erased.insert(row.try_get(0)?, row.try_get(1)?);
    }
    let mut answers: HashMap<Uuid, Erased> = HashMap::new();
    let mut wanted: Vec<EventId> = distinct
        .into_iter()
        .filter(|event| is_erased.contains_key(&uuid_of(*event)))
        .collect();
    let lanes = lanes::names(&session.over(LANES, &named(wanted.iter().copied())).await?)?;
    lanes::lock(session, &lanes, now).await?;
    let rows = session.over(LOCK_WORK, &named(wanted.iter().copied())).await?;
    let work: Vec<WorkRow> = rows.iter().map(WorkRow::read).collect::<Result<_, _>>()?;
    if *unfinished == Unfinished::Keep {
        let busy: HashSet<Uuid> = work.iter().map(|row| row.id).collect();
        wanted.retain(|event| !busy.contains(&uuid_of(*event)));
        answers.extend(busy.into_iter().map(|id| (id, Erased::Unfinished)));
    }
    let mut discarded: HashMap<Uuid, u32> = wanted.iter().map(|event| (uuid_of(*event), 0)).collect();
    let ended = ended(work, &mut discarded);
    let (_, mut numbers) = session.take(ended.len()).await?;
    conclude(session, &ended, &mut numbers, now).await?;
    bury(session, &wanted, &mut discarded, now).await?;
    for statement in [ERASE, SILENCE, DELETE_CONFLICTS, DELETE_NOTED, DELETE_INDEXED] {
        session.write(statement, &named(wanted.iter().copied())).await?;
    }
    session.commit().await?;
    answers.extend(
        discarded
            .into_iter()
            .map(|(id, discarded)| match is_erased.get(&id) {
                Some(true) => (id, Erased::Before),
                Some(false) | None => (id, Erased::Now { discarded }),
            }),
    );
    let answer = |event: &EventId| answers.get(&uuid_of(*event)).copied().unwrap_or(Erased::NotFound);
    Ok(events.iter().map(answer).collect())
}

fn named<'a>(events: impl Iterator<Item = EventId> + Clone) -> Batch<'a> {
    Batch::in_buckets(events.clone().map(bucket_of)).column("id", events.map(uuid_of))
}

/// Ends the unfinished deliveries of erased events, and counts them.
fn ended(work: Vec<WorkRow>, discarded: &mut HashMap<Uuid, u32>) -> Vec<(WorkRow, Ending)> {
    let mut ended = Vec::new();
    for row in work {
        if let Some(count) = discarded.get_mut(&row.id) {
            *count += 1;
            ended.push((row, Ending::Discarded));
        }
    }
    ended
}

/// Discards dead letters, and counts them. The lanes they held continue.
async fn bury(
    session: &Session,
    events: &[EventId],
    discarded: &mut HashMap<Uuid, u32>,
    now: Timestamp,
) -> Result<(), Failure> {
    let mut left = Vec::new();
    for row in &session.over(DISCARD, &named(events.iter().copied())).await? {
        if let Some(count) = discarded.get_mut(&row.try_get::<_, Uuid>(4)?) {
            *count += 1;
        }
        if row.try_get::<_, Option<&str>>(1)?.is_some() {
            left.push(LanePosition::read(row)?);
        }
    }
    lanes::leave(session, &left).await?;
    let freed: BTreeSet<LaneName> = left.into_iter().map(|place| place.lane).collect();
    lanes::promote(session, &freed, now).await
}
