//! Complete identities, as they are exported.

use futures_util::future::try_join_all;
use hapax_core::store::{
    ConflictRecord, EventContents, IdentityRecord, InLane, IndexedValue, OutcomeRecord, WorkRecord,
};
use hapax_core::{DestinationId, EventId, Identity, Timestamp, Token};

use super::walk::Line;
use crate::event::{self, Conflict, EventRow, sixteen};
use crate::failure::{Failure, damaged};
use crate::identity::event_key;
use crate::link::Link;
use crate::shards::Shard;
use crate::snapshot::Command;
use crate::work::{Outcome, Stay, Work};
use crate::{conflicts, duplicates, reply, spread};

/// The fields of an event's hash.
type Fields = reply::Pairs;

/// The records of some identities, in their order.
pub(super) async fn records(link: &Link, lines: &[Line]) -> Result<Vec<IdentityRecord>, Failure> {
    let lines = lines.iter().collect();
    let by_shard = spread::by_shard(lines, |line: &&Line| line.shard);
    let calls = by_shard
        .into_iter()
        .map(|(shard, lines)| of_shard(link, shard, lines));
    let mut records: Vec<_> = try_join_all(calls).await?.into_iter().flatten().collect();
    records.sort_by_key(|(place, _)| *place);
    Ok(records.into_iter().map(|(_, record)| record).collect())
}

async fn of_shard(
    link: &Link,
    shard: Shard,
    lines: Vec<(usize, &Line)>,
) -> Result<Vec<(usize, IdentityRecord)>, Failure> {
    let commands = lines.iter().flat_map(|(_, line)| {
        let events = line.events.iter();
        let events = events.map(|id| Command::new("HGETALL", event_key(*id)));
        std::iter::once(duplicates::look(line.key)).chain(events)
    });
    let mut snapshot = link.read(shard, commands.collect()).await?;
    let mut records = Vec::with_capacity(lines.len());
    for (place, line) in lines {
        let duplicates = duplicates::read(snapshot.next()?)?;
        let mut events = Vec::new();
        let mut others = Vec::new();
        for id in &line.events {
            let fields: Fields = reply::pairs(snapshot.next()?)?;
            let conflicts = event::conflicts(&fields)?.into_iter();
            others.extend(conflicts.map(|(hash, conflict)| (*id, hash, conflict)));
            if let Some(row) = EventRow::read(*id, fields)? {
                events.push(contents(row)?);
            }
        }
        let record = IdentityRecord {
            key: line.key,
            scope: line.scope.as_str().into(),
            entry: line.entry.known.clone(),
            is_forgotten: line.entry.is_forgotten,
            events,
            duplicates,
            conflicts: other_bodies(link, shard, others).await?,
        };
        records.push((place, record));
    }
    Ok(records)
}

/// The conflicts of an identity, in order of arrival.
async fn other_bodies(
    link: &Link,
    shard: Shard,
    mut others: Vec<(EventId, hapax_core::BodyHash, Conflict)>,
) -> Result<Vec<ConflictRecord>, Failure> {
    if others.is_empty() {
        return Ok(Vec::new());
    }
    others.sort_by_key(|(_, _, conflict)| conflict.order);
    let commands = others
        .iter()
        .map(|(id, hash, _)| Command::new("GET", conflicts::contents_key(*id, *hash)));
    let mut snapshot = link.read(shard, commands.collect()).await?;
    let mut records = Vec::with_capacity(others.len());
    for (id, hash, conflict) in others {
        let released = conflict.released_as.as_ref();
        records.push(ConflictRecord {
            other_body: conflicts::other_body(id, hash, &conflict, &reply::bytes(snapshot.next()?)?)?,
            seen: conflict.seen,
            released_as: released
                .map(|id| sixteen(id).map(EventId::from_bytes))
                .transpose()?,
        });
    }
    Ok(records)
}

/// An event with its deliveries.
fn contents(row: EventRow) -> Result<EventContents, Failure> {
    let identity = row.identity();
    let mut work = Vec::with_capacity(row.work.len());
    for (to, one) in &row.work {
        work.push(unfinished(&identity, row.accepted_at, to, one));
    }
    let mut outcomes = Vec::new();
    for (to, all) in &row.outcomes {
        let last = all.keys().next_back().filter(|_| !row.work.contains_key(to));
        for (token, outcome) in all {
            let mut record = finished(&identity, to, *token, outcome)?;
            record.is_last = last == Some(token);
            outcomes.push(record);
        }
    }
    let mut indexed: Vec<IndexedValue> = row
        .indexed
        .iter()
        .map(|name| indexed_value(name))
        .collect::<Result<_, _>>()?;
    indexed.sort_unstable();
    let body = row.body.ok_or_else(|| damaged("the body of an event"))?;
    Ok(EventContents {
        event: row.head.event(row.id, body)?,
        order: EventId::order_in_micros(row.id.order()),
        generation: row.generation,
        accepted_at: row.accepted_at,
        same_body_as: row.same_body_as,
        indexed,
        work,
        outcomes,
        attempts: row.attempts,
    })
}

/// Exports a running delivery as waiting, without counting its attempt.
fn unfinished(identity: &Identity, accepted_at: Timestamp, to: &DestinationId, work: &Work) -> WorkRecord {
    WorkRecord {
        destination: to.clone(),
        generation: work.generation(),
        idempotency_key: identity.idempotency_key(work.generation(), to),
        attempts: work.failures(),
        lost: work.lost,
        due_at: work.lease.map_or_else(|| work.due_at(), |_| Some(accepted_at)),
        token: work.token(),
        lane: in_lane(&work.stay),
        replay: work.replay(),
    }
}

fn finished(
    identity: &Identity,
    to: &DestinationId,
    token: Token,
    outcome: &Outcome,
) -> Result<OutcomeRecord, Failure> {
    Ok(OutcomeRecord {
        destination: to.clone(),
        token,
        state: outcome.state()?,
        is_last: false,
        holds_lane: outcome.holds_lane(),
        attempts: outcome.attempts,
        lost: outcome.lost,
        finished_at: outcome.finished_at(),
        finished_order: outcome.order,
        generation: outcome.generation(),
        idempotency_key: identity.idempotency_key(outcome.generation(), to),
        error: outcome.error(),
        lane: in_lane(&outcome.stay),
        replay: outcome.replay(),
    })
}

fn in_lane(stay: &Stay) -> Option<InLane> {
    stay.lane().map(|lane| InLane {
        lane,
        place: stay.place.unwrap_or(0),
    })
}

/// A value from its name in the indexes, as `accept::index_name` writes it.
fn indexed_value(name: &str) -> Result<IndexedValue, Failure> {
    let value = name.rsplit_once(' ').and_then(|(pointer, digest)| {
        Some(IndexedValue {
            pointer: pointer.to_owned(),
            digest: u64::from_str_radix(digest, 16).ok()?.cast_signed(),
        })
    });
    value.ok_or_else(|| damaged("the name of an indexed value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accept::index_name;

    #[test]
    fn the_name_of_an_indexed_value_reads_back() {
        for digest in [0, 1, -1, i64::MIN, i64::MAX] {
            let pointer = "/a b/c".to_owned();
            let value = IndexedValue { pointer, digest };
            assert_eq!(indexed_value(&index_name(&value)).unwrap(), value);
        }
    }
}
