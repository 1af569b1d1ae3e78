//! Get: one event with its full history.

use hapax_core::EventId;
use hapax_core::store::EventRecord;

use crate::event::EventRow;
use crate::failure::{Failure, damaged};
use crate::identity::event_key;
use crate::link::Link;
use crate::snapshot::Command;
use crate::{conflicts, duplicates, reply};

pub(crate) async fn get(link: &Link, id: EventId) -> Result<Option<EventRecord>, Failure> {
    let shard = link.shards().of_event(id);
    let everything = vec![Command::new("HGETALL", event_key(id))];
    let fields = link.read(shard, everything).await?.next()?;
    let Some(row) = EventRow::read(id, reply::pairs(fields)?)? else {
        return Ok(None);
    };
    let key = row.identity().key();
    // Duplicates are counted off the hot path, so they need not come from the same snapshot.
    let duplicates = duplicates::tally(link, key).await?;
    Ok(Some(EventRecord {
        status: row.status()?,
        deliveries: row.deliveries()?,
        conflicts: row
            .conflicts
            .iter()
            .map(|(hash, conflict)| conflicts::view(*hash, conflict))
            .collect::<Result<_, _>>()?,
        duplicates,
        same_body_as: row.same_body_as,
        attempts: row.attempts,
        event: row
            .head
            .event(id, row.body.ok_or_else(|| damaged("the body of an event"))?)?,
    }))
}
