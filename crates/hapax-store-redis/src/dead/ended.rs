//! The lists of deliveries that did not complete: one of dead and one of discarded deliveries in each shard, in the
//! order in which they ended.

use hapax_core::store::{Cursor, DeliveryView};
use hapax_core::{DeliveryState, DestinationId, ErrorClass, EventId, Timestamp};
use redis::Value;

use crate::event::{EventRow, destination, split};
use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::reply;
use crate::shards::{SHARDS_MAX, Shard};
use crate::snapshot::Command;
use crate::work::Outcome;

/// Members of a list that one call reads.
pub(super) const AT_ONCE: usize = 1_000;
/// Members of a shard's list that are read for one page, however few match.
const LOOKS_MAX: usize = 10_000;

/// The list of a state, if there is one.
pub(super) const fn list(state: DeliveryState) -> Option<&'static str> {
    match state {
        DeliveryState::Dead => Some("d"),
        DeliveryState::Discarded => Some("g"),
        // Only deliveries that did not complete are indexed by the time they ended.
        DeliveryState::Completed
        | DeliveryState::Pending
        | DeliveryState::Running
        | DeliveryState::Retrying => None,
    }
}

/// A position in the order of ends. Two shards may issue the same number: the shard distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EndPosition {
    order: u64,
    shard: Shard,
}

impl EndPosition {
    pub(super) fn from_cursor(Cursor(number): Cursor) -> Self {
        Self {
            order: number / u64::from(SHARDS_MAX),
            shard: Shard((number % u64::from(SHARDS_MAX)) as u8),
        }
    }

    pub(super) fn to_cursor(self) -> Cursor {
        Cursor(self.order * u64::from(SHARDS_MAX) + u64::from(self.shard.0))
    }

    /// The bound of the members before it in a shard's list.
    fn bound(self, shard: Shard) -> String {
        let open = if shard < self.shard { "" } else { "(" };
        format!("{open}{}", self.order)
    }
}

/// A member of a list.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) place: EndPosition,
    pub(super) id: EventId,
    pub(super) to: DestinationId,
    pub(super) error: Option<ErrorClass>,
}

impl Ended {
    fn read(shard: Shard, member: &[u8], order: Vec<u8>) -> Result<Self, Failure> {
        let (id, rest) = member
            .split_first_chunk()
            .ok_or_else(|| damaged("a dead letter"))?;
        let (to, error) = split(rest)?;
        let error = std::str::from_utf8(error).map_err(|_| damaged("the error of a dead letter"))?;
        let order = reply::number(Value::BulkString(order))?;
        Ok(Self {
            place: EndPosition { order, shard },
            id: EventId::from_bytes(*id),
            to: destination(to)?,
            error: ErrorClass::from_name(error),
        })
    }

    /// The outcome that put it into the list, if it is still the last.
    fn outcome<'a>(&self, row: &'a EventRow) -> Option<&'a Outcome> {
        let last = row.last_outcomes().find(|(to, ..)| **to == self.to);
        last.map(|(_, _, outcome)| outcome)
            .filter(|outcome| outcome.order == self.place.order)
    }

    pub(super) fn view(&self, row: &EventRow) -> Result<Option<DeliveryView>, Failure> {
        self.outcome(row)
            .map(|outcome| row.finished(&row.identity(), &self.to, outcome))
            .transpose()
    }

    pub(super) fn finished_at(&self, row: &EventRow) -> Option<Timestamp> {
        self.outcome(row).map(Outcome::finished_at)
    }
}

/// The result of a walk through a shard's list.
pub(super) struct Walk {
    /// Newest first.
    pub(super) found: Vec<Ended>,
    /// The last member that was read, unless the end of the list was reached.
    pub(super) stopped_at: Option<EndPosition>,
}

/// Walks a list, newest first, for deliveries to one destination or to all.
pub(super) async fn walk(
    link: &Link,
    shard: Shard,
    list: &str,
    to: Option<&DestinationId>,
    before: Option<EndPosition>,
    limit: usize,
) -> Result<Walk, Failure> {
    let mut walk = Walk {
        found: Vec::new(),
        stopped_at: before,
    };
    let mut looks = 0;
    while walk.found.len() < limit && looks < LOOKS_MAX {
        // Without a filter, no more is read than fits.
        let at_once = to.map_or(limit - walk.found.len(), |_| AT_ONCE);
        let page = newest(link, shard, list, walk.stopped_at, at_once).await?;
        looks += page.len();
        let Some(reached) = page.last() else {
            walk.stopped_at = None;
            return Ok(walk);
        };
        walk.stopped_at = Some(reached.place);
        let fitting = page
            .into_iter()
            .filter(|ended| to.is_none_or(|to| ended.to == *to));
        walk.found.extend(fitting);
    }
    Ok(walk)
}

async fn newest(
    link: &Link,
    shard: Shard,
    list: &str,
    before: Option<EndPosition>,
    limit: usize,
) -> Result<Vec<Ended>, Failure> {
    let bound = before.map_or_else(|| "+inf".to_owned(), |place| place.bound(shard));
    let command = Command::new("ZREVRANGEBYSCORE", list)
        .arg(bound)
        .arg("-inf")
        .arg("WITHSCORES")
        .arg("LIMIT")
        .number(0)
        .number(limit);
    let members = reply::pairs(link.read(shard, vec![command]).await?.next()?)?;
    members
        .into_iter()
        .map(|(member, order)| Ended::read(shard, &member, order))
        .collect()
}

/// The next members of a list, oldest first.
pub(super) async fn oldest(
    link: &Link,
    shard: Shard,
    list: &str,
    after: Option<EndPosition>,
) -> Result<Vec<Ended>, Failure> {
    let bound = after.map_or_else(|| "-inf".to_owned(), |place| format!("({}", place.order));
    let command = Command::new("ZRANGEBYSCORE", list)
        .arg(bound)
        .arg("+inf")
        .arg("WITHSCORES")
        .arg("LIMIT")
        .number(0)
        .number(AT_ONCE);
    let members = reply::pairs(link.read(shard, vec![command]).await?.next()?)?;
    members
        .into_iter()
        .map(|(member, order)| Ended::read(shard, &member, order))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn place(order: u64, shard: u8) -> EndPosition {
        EndPosition {
            order,
            shard: Shard(shard),
        }
    }

    #[test]
    fn a_place_reads_back_from_its_cursor() {
        for place in [place(0, 0), place(1_900_000_000_000_000, 63), place(7, 1)] {
            assert_eq!(EndPosition::from_cursor(place.to_cursor()), place);
        }
    }

    #[test]
    fn one_number_in_two_shards_is_neither_skipped_nor_repeated() {
        let last_shown = place(7, 2);
        assert!(place(7, 1) < last_shown, "it comes later");
        assert_eq!(last_shown.bound(Shard(1)), "7", "so it is still to come");
        assert_eq!(last_shown.bound(Shard(2)), "(7", "itself is not");
        assert_eq!(last_shown.bound(Shard(3)), "(7", "that was shown before");
    }
}
