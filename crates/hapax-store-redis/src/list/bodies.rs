//! Values in bodies: read in groups that fit into memory, up to a limit of bytes per page.

use std::collections::HashSet;

use futures_util::future::try_join_all;
use hapax_core::EventId;
use hapax_core::store::EventQuery;

use super::look::Found;
use crate::event::unpack_body;
use crate::failure::Failure;
use crate::identity::event_key;
use crate::link::Link;
use crate::shards::Shard;
use crate::snapshot::Command;
use crate::{reply, spread};

/// Approximate limit for body bytes read per page: a few large bodies take as long as many small ones.
const BODY_BYTES_MAX: u64 = 64 << 20;
/// Approximate limit for body bytes read at once.
const GROUP_BYTES_MAX: u64 = 4 << 20;
/// Bodies read at once.
const GROUP_MAX: usize = 200;

/// The amount of bodies read for a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub(super) bodies: u64,
    bytes: u64,
}

impl Reading {
    pub(super) const fn is_spent(self) -> bool {
        self.bytes >= BODY_BYTES_MAX
    }
}

/// Events whose bodies are read at once; a single group if the query does not ask about bodies. Events of one order are
/// in one group.
pub(super) fn groups(query: &EventQuery, events: Vec<Found>) -> Vec<Vec<Found>> {
    if query.body.is_empty() {
        return vec![events];
    }
    let mut groups: Vec<Vec<Found>> = Vec::new();
    let mut bytes = 0;
    for event in events {
        bytes += event.row.head.body_bytes;
        let last = groups.last_mut().filter(|group| {
            let has_room = bytes <= GROUP_BYTES_MAX && group.len() < GROUP_MAX;
            has_room || group.last().map(Found::order) == Some(event.order())
        });
        if let Some(group) = last {
            group.push(event);
        } else {
            bytes = event.row.head.body_bytes;
            groups.push(vec![event]);
        }
    }
    groups
}

/// The events of a group whose bodies match.
pub(super) async fn fitting(
    link: &Link,
    query: &EventQuery,
    mut group: Vec<Found>,
    reading: &mut Reading,
) -> Result<Vec<Found>, Failure> {
    if query.body.is_empty() {
        return Ok(group);
    }
    let ids = group.iter().map(|one| one.row.id).collect();
    let by_shard = spread::by_shard(ids, |id| link.shards().of_event(*id));
    let calls = by_shard.iter().map(|(shard, ids)| read(link, *shard, ids));
    let mut fitting: HashSet<EventId> = HashSet::new();
    for (id, body) in try_join_all(calls).await?.into_iter().flatten() {
        let (_, body) = unpack_body(body)?;
        reading.bodies += 1;
        reading.bytes += body.len() as u64;
        if query.fits_body(id, &body) {
            fitting.insert(id);
        }
    }
    group.retain(|one| fitting.contains(&one.row.id));
    Ok(group)
}

/// The bodies of a shard's events that still exist.
async fn read(
    link: &Link,
    shard: Shard,
    ids: &[(usize, EventId)],
) -> Result<Vec<(EventId, Vec<u8>)>, Failure> {
    let commands = ids
        .iter()
        .map(|(_, id)| Command::new("HGET", event_key(*id)).arg("b"));
    let answers = link.read(shard, commands.collect()).await?.answers;
    let mut bodies = Vec::with_capacity(ids.len());
    for ((_, id), answer) in ids.iter().zip(answers) {
        bodies.extend(reply::optional_bytes(answer)?.map(|body| (*id, body)));
    }
    Ok(bodies)
}
