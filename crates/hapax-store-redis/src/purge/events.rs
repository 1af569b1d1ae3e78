//! Events with their payloads, attempts and outcomes.

use std::time::Duration;

use hapax_core::store::{PurgeOrder, PurgeWindow, Purged};
use hapax_core::{DeliveryState, EventId};

use super::Budget;
use crate::event::{EventRow, sixteen};
use crate::failure::Failure;
use crate::identity::{event_key, rows};
use crate::lanes::{self, Step};
use crate::link::Link;
use crate::replay::leave_list;
use crate::reply;
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Made, Room};

/// Events that are looked at in one call of the server.
const AT_ONCE: usize = 200;
/// Between the time in an event's id and the time of its arrival.
const SLACK: Duration = Duration::from_secs(3_600);

/// Walks through the events of a shard, the oldest first; how far it came, unless it came to the end.
pub(super) async fn purge(
    link: &Link,
    shard: Shard,
    order: &PurgeOrder,
    after: Option<EventId>,
    budget: &mut Budget,
    purged: &mut Purged,
) -> Result<Option<EventId>, Failure> {
    let mut after = after;
    loop {
        let ids = oldest(link, shard, order, after, AT_ONCE.min(budget.looks)).await?;
        let Some(last) = ids.last().copied() else {
            return Ok(None);
        };
        if budget.is_spent() {
            return Ok(after.or(Some(EventId::least_of(0))));
        }
        budget.looks = budget.looks.saturating_sub(ids.len());
        let rows = rows(link, shard, &ids).await?;
        let mut leaving = Vec::new();
        for row in &rows {
            if leaving.len() < budget.rows && may_go(row, order)? {
                leaving.push(removal(row)?);
            }
        }
        let is_cut = leaving.len() == budget.rows;
        let removed = remove(link, shard, leaving).await?;
        budget.rows -= removed as usize;
        purged.events += removed;
        // Where the limit cut it short, the next walk begins with the same ids.
        if !is_cut {
            after = Some(last);
        }
        if removed == 0 && is_cut {
            return Ok(after.or(Some(EventId::least_of(0))));
        }
    }
}

/// The oldest ids behind one, among those that may have outlived any window.
async fn oldest(
    link: &Link,
    shard: Shard,
    order: &PurgeOrder,
    after: Option<EventId>,
    limit: usize,
) -> Result<Vec<EventId>, Failure> {
    let Some(before) = order.windows.iter().map(|window| window.payload_before).max() else {
        return Ok(Vec::new());
    };
    let bound = EventId::least_of(EventId::order_at(before.plus(SLACK)));
    let from = after.map_or_else(|| b"-".to_vec(), |id| [b"(", &id.as_bytes()[..]].concat());
    let command = Command::new("ZRANGEBYLEX", "t")
        .arg(from)
        .arg([b"(", &bound.as_bytes()[..]].concat())
        .arg("LIMIT")
        .number(0)
        .number(limit.max(1));
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

/// Each dead letter keeps its event for the dead window; a discarded one too, which can be restored.
fn dead_may_go(row: &EventRow, window: &PurgeWindow) -> Result<bool, Failure> {
    for (_, _, outcome) in row.last_outcomes() {
        let is_dead = matches!(outcome.state()?, DeliveryState::Dead | DeliveryState::Discarded);
        if is_dead && outcome.finished_at() >= window.dead_before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An event's end: what to delete, and the lanes that go on without it.
struct Removal {
    change: Change,
    steps: Vec<Step>,
}

fn removal(row: &EventRow) -> Result<Removal, Failure> {
    let id = row.id;
    let mut change = Change::default().when(event_key(id), "v", row.version.clone());
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
            // A dead head that goes must not leave its lane waiting for nobody.
            let step = Step::leave(id, to, &lane.key, outcome.ticket);
            change.then(step.note(outcome.finished_at()));
            steps.push(step);
        }
    }
    Ok(Removal { change, steps })
}

/// Where the headers and the body of another body are.
pub(crate) fn conflict_key(id: EventId, hash: &[u8]) -> Vec<u8> {
    [b"C", &id.as_bytes()[..], hash].concat()
}

/// How many were deleted: somebody may have replayed one meanwhile.
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
