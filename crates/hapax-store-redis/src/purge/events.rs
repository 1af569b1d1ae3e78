//! Events with their payloads, attempts and outcomes.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use hapax_core::store::{PurgeOrder, PurgeWindow};
use hapax_core::{DeliveryState, EventId, Timestamp};

use super::{AT_ONCE, Budget};
use crate::event::{EventRow, sixteen};
use crate::failure::Failure;
use crate::identity::event_key;
use crate::lanes::{self, Step};
use crate::link::Link;
use crate::replay::leave_list;
use crate::reply;
use crate::script::LOOK;
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Made, Room};

/// An id's time is its event's arrival or later.
const MILLISECOND: Duration = Duration::from_millis(1);
/// How often a walk examines everything again.
const WHOLE_EVERY: Duration = Duration::from_secs(3_600);

/// The position of a walk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reached {
    /// The last event that this pass examined, unless it reached the end.
    pub(super) after: Option<EventId>,
    /// The last event, between the shortest retention and the longest, that any pass examined. Most events there are
    /// younger than their own source's retention, so they are not examined every time.
    far: Option<EventId>,
    /// When `far` was last reset.
    since: Option<Instant>,
}

/// Walks the events of a shard, oldest first. Returns its position and the number of deleted events.
pub(super) async fn purge(
    link: &Link,
    shard: Shard,
    order: &PurgeOrder,
    from: Reached,
    mut budget: Budget,
) -> Result<(Reached, u64), Failure> {
    let horizon = |before: Timestamp| EventId::least_of(EventId::order_at(before.plus(MILLISECOND)));
    let windows = || order.windows.iter().map(|window| horizon(window.payload_before));
    let (Some(near), Some(end)) = (windows().min(), windows().max()) else {
        return Ok((Reached::default(), 0));
    };
    let mut reached = from;
    if reached.since.is_none_or(|since| since.elapsed() >= WHOLE_EVERY) {
        reached.far = None;
        reached.since = Some(Instant::now());
    }
    let mut deleted = 0;
    loop {
        if reached.after.is_some_and(|after| after >= near) {
            reached.after = reached.after.max(reached.far);
        }
        let ids = oldest(link, shard, reached.after, end, budget.page()).await?;
        let Some(last) = ids.last().copied() else {
            reached.after = None;
            return Ok((reached, deleted));
        };
        if budget.is_spent() {
            reached.after = reached.after.or(Some(EventId::least_of(0)));
            return Ok((reached, deleted));
        }
        let some = ids
            .chunks(AT_ONCE)
            .map(|some| remove_old(link, shard, order, some));
        let removed: u64 = try_join_all(some).await?.into_iter().sum();
        budget.spend(ids.len(), removed as usize);
        deleted += removed;
        reached.after = Some(last);
        if last >= near {
            reached.far = reached.far.max(Some(last));
        }
    }
}

/// Deletes the events that can be deleted. Returns how many.
async fn remove_old(link: &Link, shard: Shard, order: &PurgeOrder, ids: &[EventId]) -> Result<u64, Failure> {
    let args: Vec<Vec<u8>> = std::iter::once(link.floor())
        .chain(ids.iter().map(|id| id.as_bytes().to_vec()))
        .collect();
    let answers = reply::list(link.call(shard, &LOOK, &args).await?)?;
    let mut leaving = Vec::new();
    for (id, fields) in ids.iter().zip(answers) {
        if let Some(row) = EventRow::read(*id, reply::pairs(fields)?)?
            && may_go(&row, order)?
        {
            leaving.push(removal(&row)?);
        }
    }
    remove(link, shard, leaving).await
}

/// The oldest ids after one and before another.
async fn oldest(
    link: &Link,
    shard: Shard,
    after: Option<EventId>,
    end: EventId,
    limit: usize,
) -> Result<Vec<EventId>, Failure> {
    let from = after.map_or_else(|| b"-".to_vec(), |id| [b"(", &id.as_bytes()[..]].concat());
    let command = Command::new("ZRANGEBYLEX", "t")
        .arg(from)
        .arg([b"(", &end.as_bytes()[..]].concat())
        .arg("LIMIT")
        .number(0)
        .number(limit);
    let found = link.read(shard, vec![command]).await?.next()?;
    let ids = reply::list(found)?.into_iter();
    ids.map(|id| Ok(EventId::from_bytes(sixteen(&reply::bytes(id)?)?)))
        .collect()
}

fn may_go(row: &EventRow, order: &PurgeOrder) -> Result<bool, Failure> {
    let window = order
        .windows
        .iter()
        .find(|window| window.source.as_str() == row.head.source);
    let Some(window) = window else {
        return Ok(false);
    };
    Ok(!row.is_unfinished() && row.head.received_at() < window.payload_before && dead_may_go(row, window)?)
}

/// Each dead letter keeps its event for the dead-letter window; so does a discarded one, which can be restored.
fn dead_may_go(row: &EventRow, window: &PurgeWindow) -> Result<bool, Failure> {
    for (_, _, outcome) in row.last_outcomes() {
        let is_dead = matches!(outcome.state()?, DeliveryState::Dead | DeliveryState::Discarded);
        if is_dead && outcome.finished_at() >= window.dead_before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The deletion of an event: the change to write, and the lanes that continue without it.
struct Removal {
    change: Change,
    steps: Vec<Step>,
}

fn removal(row: &EventRow) -> Result<Removal, Failure> {
    let id = row.id;
    // An event without deliveries has no version: its head says whether it exists.
    let mut change = Change::default()
        .when(event_key(id), "h", row.packed_head.clone())
        .when(event_key(id), "v", row.version.clone());
    let mut steps = Vec::new();
    change.then(Command::new("UNLINK", event_key(id)));
    change.then(Command::new("ZREM", "t").arg(*id.as_bytes()));
    for name in &row.indexed {
        change.then(Command::new("ZREM", format!("i{name}")).arg(*id.as_bytes()));
    }
    for (hash, _) in &row.conflicts {
        change.then(Command::new("UNLINK", conflict_key(id, hash.as_bytes())));
    }
    for (to, _, outcome) in row.last_outcomes() {
        leave_list(&mut change, id, to, outcome)?;
        if let Some(lane) = outcome.stay.lane().filter(|_| outcome.holds_lane()) {
            // Deleting a dead head must not leave its lane blocked forever.
            let step = Step::leave(id, to, &lane.key, outcome.ticket);
            change.then(step.note(outcome.finished_at()));
            steps.push(step);
        }
    }
    Ok(Removal { change, steps })
}

/// The key of a conflict's headers and body.
pub(crate) fn conflict_key(id: EventId, hash: &[u8]) -> Vec<u8> {
    [b"C", &id.as_bytes()[..], hash].concat()
}

/// Returns how many were deleted: some may have been replayed in the meantime.
async fn remove(link: &Link, shard: Shard, leaving: Vec<Removal>) -> Result<u64, Failure> {
    let (changes, steps): (Vec<Change>, Vec<Vec<Step>>) = leaving
        .into_iter()
        .map(|removal| (removal.change, removal.steps))
        .unzip();
    let made = link.apply(shard, &changes, Room::NotNeeded).await?;
    let mut removed = 0;
    for (made, steps) in made.into_iter().zip(steps) {
        if made == Made::Yes {
            removed += 1;
            for step in &steps {
                lanes::take_or_leave(link, step).await;
            }
        }
    }
    Ok(removed)
}
