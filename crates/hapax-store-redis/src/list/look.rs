//! Reads events for a list, each from its shard: without their bodies, with their duplicates.

use futures_util::future::try_join_all;
use hapax_core::store::{EventQuery, EventSummary, ListOrder};
use hapax_core::{EventId, EventStatus};

use super::fits;
use crate::event::EventRow;
use crate::failure::Failure;
use crate::link::Link;
use crate::shards::Shard;
use crate::{duplicates, identity, spread};

/// Events read in one call.
const CALL_MAX: usize = 200;

/// A matching event with the properties found so far.
pub(super) struct Found {
    pub(super) row: EventRow,
    status: EventStatus,
    duplicates: u64,
}

impl Found {
    pub(super) const fn order(&self) -> u64 {
        self.row.id.order()
    }

    pub(super) fn summary(self) -> EventSummary {
        let received_at = self.row.head.received_at();
        let head = self.row.head;
        EventSummary {
            id: self.row.id,
            source: head.source.into(),
            event_id: head.event_id,
            event_type: head.event_type,
            received_at,
            status: self.status,
            body_bytes: head.body_bytes,
            duplicates: self.duplicates,
        }
    }
}

/// The events that still exist and match, leaving aside their bodies, in list order.
pub(super) async fn fitting(link: &Link, query: &EventQuery, ids: &[EventId]) -> Result<Vec<Found>, Failure> {
    let by_shard = spread::by_shard(ids.to_vec(), |id| link.shards().of_event(*id));
    let calls = by_shard.iter().flat_map(|(shard, ids)| {
        let chunks = ids.chunks(CALL_MAX);
        chunks.map(|ids| call(link, query, *shard, ids))
    });
    let mut found: Vec<Found> = try_join_all(calls).await?.into_iter().flatten().collect();
    found.sort_unstable_by_key(|one| one.row.id);
    if query.order == ListOrder::NewestFirst {
        found.reverse();
    }
    Ok(found)
}

async fn call(
    link: &Link,
    query: &EventQuery,
    shard: Shard,
    ids: &[(usize, EventId)],
) -> Result<Vec<Found>, Failure> {
    let ids: Vec<EventId> = ids.iter().map(|(_, id)| *id).collect();
    let mut rows = Vec::with_capacity(ids.len());
    for row in identity::rows(link, shard, &ids).await? {
        let status = row.status()?;
        if fits::fits(query, &row, status)? {
            rows.push((row, status));
        }
    }
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let looks = rows.iter().map(|(row, _)| duplicates::look(row.identity().key()));
    let mut snapshot = link.read(shard, looks.collect()).await?;
    let mut found = Vec::with_capacity(rows.len());
    for (row, status) in rows {
        let duplicates = duplicates::read(snapshot.next()?)?.map_or(0, |tally| tally.count);
        if query.duplicates.is_none_or(|wanted| wanted.fits(duplicates)) {
            found.push(Found {
                row,
                status,
                duplicates,
            });
        }
    }
    Ok(found)
}
