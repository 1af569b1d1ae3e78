//! Get: one event with everything that happened to it.

use hapax_core::EventId;
use hapax_core::store::{ConflictView, EventRecord};

use crate::event::{self, Conflict, EventRow};
use crate::failure::{Failure, damaged};
use crate::identity::event_key;
use crate::link::Link;
use crate::snapshot::Command;
use crate::{copies, reply};

pub(crate) async fn get(link: &Link, id: EventId) -> Result<Option<EventRecord>, Failure> {
    let shard = link.shards().of_event(id);
    let everything = vec![Command::new("HGETALL", event_key(id))];
    let fields = link.read(shard, everything).await?.next()?;
    let Some(row) = EventRow::read(id, reply::pairs(fields)?)? else {
        return Ok(None);
    };
    let key = row.identity().key();
    // Copies are counted off the hot path, so they need not be of the same moment.
    let duplicates = copies::read(link, shard, &[key]).await?.pop().flatten();
    Ok(Some(EventRecord {
        status: row.status()?,
        deliveries: row.deliveries()?,
        conflicts: row.conflicts.iter().map(view).collect::<Result<_, _>>()?,
        duplicates,
        same_body_as: row.same_body_as,
        attempts: row.attempts,
        event: row
            .head
            .event(id, row.body.ok_or_else(|| damaged("the body of an event"))?)?,
    }))
}

fn view((raw_hash, conflict): &(hapax_core::BodyHash, Conflict)) -> Result<ConflictView, Failure> {
    let released = conflict.released_as.as_ref();
    Ok(ConflictView {
        raw_hash: *raw_hash,
        seen: conflict.seen,
        received_at: hapax_core::Timestamp::from_micros(conflict.received_at),
        body_bytes: conflict.body_bytes,
        released_as: released
            .map(|id| event::sixteen(id).map(EventId::from_bytes))
            .transpose()?,
    })
}
