//! Values in bodies: read in groups that fit into memory, at most this many bytes for a page.

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

/// Bytes of bodies that are read for one page, about: a few large ones take as long as many small ones.
const BODY_BYTES_MAX: u64 = 64 << 20;
/// Bytes of bodies that are read at once, about.
const GROUP_BYTES_MAX: u64 = 4 << 20;
/// Bodies that are read at once.
const GROUP_MAX: usize = 200;

/// What was read of bodies for a page.
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

/// Events whose bodies are read at once; one group where no body is asked for. An order is in one group.
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

/// Those of a group whose bodies fit.
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

/// The bodies of a shard's events that are still there.
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
