//! The ids that a list walks, across all shards.

use std::sync::Arc;

use hapax_core::store::{Cursor, EventQuery, ListOrder};
use hapax_core::{EventId, EventStatus};

use super::range::Range;
use super::{few, named};
use crate::Options;
use crate::accept::index_name;
use crate::event::sixteen;
use crate::failure::Failure;
use crate::link::{Link, on_each};
use crate::reply;

/// Minimum number of ids read from a shard: more than processes can give the same order.
const SHARE_MIN: usize = 128;

/// The ids that a list walks.
pub(super) enum Trail {
    /// A sorted set that every shard has.
    Along {
        set: Vec<u8>,
        range: Range,
        order: ListOrder,
    },
    /// These few ids, in list order.
    Past(Vec<EventId>),
}

impl Trail {
    /// The trail with the fewest events that do not match.
    pub(super) async fn choose(
        link: &Arc<Link>,
        options: &Options,
        query: &EventQuery,
        after: Option<Cursor>,
    ) -> Result<Self, Failure> {
        let range = Range::of(query, after);
        if let Some(mut ids) = named_or_few(link, options, query).await? {
            ids.retain(|id| range.contains(*id));
            if query.order == ListOrder::OldestFirst {
                ids.reverse();
            }
            return Ok(Self::Past(ids));
        }
        let set = match query.indexed_value() {
            Some(value) => format!("i{}", index_name(&value)).into_bytes(),
            None => b"t".to_vec(),
        };
        let order = query.order;
        Ok(Self::Along { set, range, order })
    }

    /// The next ids: about `count`, and all that share an order with one of them; empty at the end.
    pub(super) async fn next(&mut self, link: &Arc<Link>, count: usize) -> Result<Vec<EventId>, Failure> {
        match self {
            Self::Past(ids) => {
                let rest = ids.split_off(whole_orders(ids, count));
                Ok(std::mem::replace(ids, rest))
            }
            Self::Along { set, range, order } => {
                let mut ids = first(link, set, (*range, *order), count.max(SHARE_MIN)).await?;
                ids.truncate(whole_orders(&ids, count));
                let last = ids.last().map(EventId::order);
                *range = last.map_or(*range, |last| range.after(last, *order));
                Ok(ids)
            }
        }
    }
}

/// The few events that include all matches, newest first, if that is known.
async fn named_or_few(
    link: &Arc<Link>,
    options: &Options,
    query: &EventQuery,
) -> Result<Option<Vec<EventId>>, Failure> {
    if let Some(event_id) = &query.event_id {
        return named::ids(link, event_id).await.map(Some);
    }
    if query.by_index.is_some() {
        return Ok(None);
    }
    if query.error.is_some() {
        return few::dead(link, options.list_scan_max).await;
    }
    match query.status {
        Some(EventStatus::Dead | EventStatus::Held) => few::dead(link, options.list_scan_max).await,
        Some(EventStatus::Pending | EventStatus::Failed) => {
            few::unfinished(link, options.list_scan_max).await
        }
        Some(EventStatus::Completed | EventStatus::Ignored | EventStatus::Quarantined) | None => Ok(None),
    }
}

/// How many of the first ids make up whole orders: at most `count`, or the first order.
fn whole_orders(ids: &[EventId], count: usize) -> usize {
    let Some(next) = ids.get(count).map(EventId::order) else {
        return ids.len();
    };
    match ids.iter().position(|id| id.order() == next) {
        None | Some(0) => ids.iter().take_while(|id| id.order() == next).count(),
        Some(whole) => whole,
    }
}

/// The first ids of all shards, as far as all are known.
async fn first(
    link: &Arc<Link>,
    set: &[u8],
    (range, order): (Range, ListOrder),
    count: usize,
) -> Result<Vec<EventId>, Failure> {
    let command = range.first(set, order, count);
    let shares = on_each(link, |link, shard| {
        let command = command.clone();
        async move { read(link.read(shard, vec![command]).await?.next()?) }
    })
    .await?;
    let cut = shares.iter().filter(|share| share.len() == count);
    // Ids that a shard has not returned yet may have the order of the last one that it returned.
    let borders = cut.filter_map(|share| share.last()).map(EventId::order);
    let mut ids: Vec<EventId> = shares.iter().flatten().copied().collect();
    ids.sort_unstable();
    let border = match order {
        ListOrder::NewestFirst => {
            ids.reverse();
            borders.max()
        }
        ListOrder::OldestFirst => borders.min(),
    };
    let is_known = |id: &EventId| match (border, order) {
        (None, _) => true,
        (Some(border), ListOrder::NewestFirst) => id.order() > border,
        (Some(border), ListOrder::OldestFirst) => id.order() < border,
    };
    let known = ids.partition_point(is_known);
    if known > 0 {
        ids.truncate(known);
    }
    Ok(ids)
}

fn read(ids: redis::Value) -> Result<Vec<EventId>, Failure> {
    let ids = reply::list(ids)?.into_iter();
    ids.map(|id| Ok(EventId::from_bytes(sixteen(&reply::bytes(id)?)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(orders: &[u64]) -> Vec<EventId> {
        orders.iter().map(|order| EventId::least_of(*order)).collect()
    }

    #[test]
    fn an_order_is_taken_whole_or_not_at_all() {
        let ids = ids(&[9, 8, 8, 7]);
        assert_eq!(whole_orders(&ids, 1), 1);
        assert_eq!(whole_orders(&ids, 2), 1, "the second eight would be left behind");
        assert_eq!(whole_orders(&ids, 3), 3);
        assert_eq!(whole_orders(&ids, 4), 4);
        assert_eq!(whole_orders(&ids, 9), 4);
    }

    #[test]
    fn the_first_order_is_taken_however_many_share_it() {
        let ids = ids(&[8, 8, 8, 7]);
        assert_eq!(whole_orders(&ids, 1), 3);
        assert_eq!(whole_orders(&ids, 2), 3);
    }
}
