//! Dead letters: finding finished deliveries, and discarding or restoring them.

mod dispose;
mod ended;
mod groups;

use std::collections::HashMap;
use std::sync::Arc;

use hapax_core::store::{Cursor, DeadQuery, DeliveryView};
use hapax_core::{DeliveryState, EventId};

use crate::event::EventRow;
use crate::failure::Failure;
use crate::identity::rows;
use crate::link::{Link, on_each};
use crate::spread::by_shard;
use ended::{EndPosition, Ended, Walk};

pub(crate) use dispose::dispose;
pub(crate) use groups::dead_groups;

/// The maximum number of deliveries per page.
const PAGE_MAX: u32 = 1_000;
/// Events whose rows are read in one call.
const ROWS_MAX: usize = 200;

/// A page of dead or discarded deliveries, the most recently finished first.
pub(crate) async fn deliveries(
    link: &Arc<Link>,
    query: &DeadQuery,
    after: Option<Cursor>,
    limit: u32,
) -> Result<(Vec<DeliveryView>, Option<Cursor>), Failure> {
    let Some(list) = ended::list(query.state) else {
        return Ok((Vec::new(), None));
    };
    let limit = limit.min(PAGE_MAX) as usize;
    let before = after.map(EndPosition::from_cursor);
    let walks = on_each(link, |link, shard| async move {
        ended::walk(&link, shard, list, query.destination.as_ref(), before, limit + 1).await
    })
    .await?;
    let (page, next) = merge(walks, limit);
    Ok((views(link, page, query.state).await?, next))
}

/// The newest deliveries of all shards, as far as every shard was walked, and the cursor.
fn merge(walks: Vec<Walk>, limit: usize) -> (Vec<Ended>, Option<Cursor>) {
    let stopped_at = walks.iter().filter_map(|walk| walk.stopped_at).max();
    let mut all: Vec<Ended> = walks.into_iter().flat_map(|walk| walk.found).collect();
    all.sort_unstable_by_key(|ended| std::cmp::Reverse(ended.place));
    all.retain(|ended| stopped_at.is_none_or(|place| ended.place >= place));
    let is_cut = all.len() > limit;
    all.truncate(limit);
    let next = if is_cut {
        all.last().map(|ended| ended.place)
    } else {
        stopped_at
    };
    (all, next.map(EndPosition::to_cursor))
}

/// Their current views. A delivery that is no longer in the state is left out.
async fn views(
    link: &Arc<Link>,
    page: Vec<Ended>,
    state: DeliveryState,
) -> Result<Vec<DeliveryView>, Failure> {
    let events = read(link, &page).await?;
    let mut views = Vec::with_capacity(page.len());
    for ended in &page {
        if let Some(view) = events.get(&ended.id).map(|row| ended.view(row)).transpose()? {
            views.extend(view.filter(|view| view.state == state));
        }
    }
    Ok(views)
}

/// Their events, by id.
async fn read(link: &Arc<Link>, ended: &[Ended]) -> Result<HashMap<EventId, EventRow>, Failure> {
    let mut ids: Vec<EventId> = ended.iter().map(|ended| ended.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut events = HashMap::with_capacity(ids.len());
    for (shard, ids) in by_shard(ids, |id| link.shards().of_event(*id)) {
        let ids: Vec<EventId> = ids.into_iter().map(|(_, id)| id).collect();
        for some in ids.chunks(ROWS_MAX) {
            let found = rows(link, shard, some).await?;
            events.extend(found.into_iter().map(|row| (row.id, row)));
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use hapax_core::DestinationId;

    use super::*;

    fn ended(cursor: u64) -> Ended {
        Ended {
            place: EndPosition::from_cursor(Cursor(cursor)),
            id: EventId::from_bytes([0; 16]),
            to: DestinationId::from("billing"),
            error: None,
        }
    }

    fn walk(found: &[u64], stopped_at: Option<u64>) -> Walk {
        Walk {
            found: found.iter().copied().map(ended).collect(),
            stopped_at: stopped_at.map(|cursor| EndPosition::from_cursor(Cursor(cursor))),
        }
    }

    fn merged(walks: Vec<Walk>, limit: usize) -> (Vec<u64>, Option<u64>) {
        let (page, next) = merge(walks, limit);
        let shown = page.into_iter().map(|ended| ended.place.to_cursor().0);
        (shown.collect(), next.map(|Cursor(cursor)| cursor))
    }

    #[test]
    fn a_page_ends_where_the_shard_that_was_walked_least_far_stopped() {
        let walks = vec![walk(&[90, 40, 10], None), walk(&[80, 50], Some(30))];
        assert_eq!(merged(walks, 10), (vec![90, 80, 50, 40], Some(30)));
    }

    #[test]
    fn a_full_page_goes_on_behind_its_last() {
        let walks = vec![walk(&[90, 40], None), walk(&[80, 50], None)];
        assert_eq!(merged(walks, 3), (vec![90, 80, 50], Some(50)));
    }

    #[test]
    fn the_last_page_has_no_next() {
        let walks = vec![walk(&[90, 40], None), walk(&[80, 50], None)];
        assert_eq!(merged(walks, 4), (vec![90, 80, 50, 40], None));
    }
}
