//! The oldest delivery of each destination and state: the one with the smallest id.
//!
//! Queues are ordered by due time and hold pending and retrying deliveries. Of a long queue only both ends are read:
//! deliveries accepted first are due first, retries are due last.

use std::collections::BTreeMap;

use hapax_core::{DeliveryState, DestinationId, EventId, Timestamp};
use redis::Value;

use super::Kind;
use crate::event::{acceptance, destination, sixteen};
use crate::failure::{Failure, damaged};
use crate::identity::event_key;
use crate::lanes;
use crate::link::Link;
use crate::shards::Shard;
use crate::snapshot::Command;
use crate::work::Work;
use crate::{packed, reply};

/// Deliveries at each end of a queue among which the oldest is searched.
const END_MAX: i64 = 1_000;
/// Deliveries whose state is read in one call.
const CALL_MAX: usize = 100;
/// Unfinished lane steps that are read.
const STEPS_MAX: i64 = 1_000;

/// The smallest id of each kind.
#[derive(Debug, Default)]
pub(super) struct Oldest(BTreeMap<Kind, EventId>);

impl Oldest {
    /// When each was accepted.
    pub(super) async fn accepted_at(
        self,
        link: &Link,
        shard: Shard,
    ) -> Result<BTreeMap<Kind, Timestamp>, Failure> {
        let commands = self.0.values();
        let commands = commands.map(|id| Command::new("HGET", event_key(*id)).arg("m"));
        let mut snapshot = link.read(shard, commands.collect()).await?;
        let mut times = BTreeMap::new();
        for kind in self.0.into_keys() {
            if let Some(accepted) = reply::optional_bytes(snapshot.next()?)? {
                times.insert(kind, acceptance(&accepted)?.0);
            }
        }
        Ok(times)
    }

    /// Adds running or dead deliveries: members of a sorted set.
    pub(super) fn add_members(&mut self, state: DeliveryState, members: Value) -> Result<(), Failure> {
        for member in reply::list(members)? {
            let member = reply::bytes(member)?;
            let (id, to) = member.split_first_chunk().ok_or_else(|| damaged("a delivery"))?;
            let to = to.split(|byte| *byte == 0).next().unwrap_or_default();
            self.add((destination(to)?, state), EventId::from_bytes(*id));
        }
        Ok(())
    }

    /// Adds deliveries that wait for a destination, in these states.
    pub(super) async fn add_waiting(
        &mut self,
        link: &Link,
        shard: Shard,
        to: &DestinationId,
        states: &[DeliveryState],
    ) -> Result<(), Failure> {
        let (due, in_lanes) = waiting(link, shard, to).await?;
        if let Some(least) = in_lanes.into_iter().min() {
            self.add((to.clone(), DeliveryState::Pending), least);
        }
        match (states, due.first()) {
            (_, None) => {}
            ([state], Some(least)) => self.add((to.clone(), *state), *least),
            (states, Some(_)) => self.add_first_of(link, shard, to, states, &due).await?,
        }
        Ok(())
    }

    /// Reads the states of deliveries, oldest first, until there is one of each.
    async fn add_first_of(
        &mut self,
        link: &Link,
        shard: Shard,
        to: &DestinationId,
        states: &[DeliveryState],
        due: &[EventId],
    ) -> Result<(), Failure> {
        let mut missing = states.to_vec();
        for ids in due.chunks(CALL_MAX) {
            for (id, work) in ids.iter().zip(works(link, shard, to, ids).await?) {
                let Some(state) = work.map(|work| work.state()) else {
                    continue;
                };
                if missing.contains(&state) {
                    missing.retain(|one| *one != state);
                    self.add((to.clone(), state), *id);
                }
            }
            if missing.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn add(&mut self, kind: Kind, id: EventId) {
        let least = self.0.entry(kind).or_insert(id);
        *least = id.min(*least);
    }
}

/// Deliveries with a due time, oldest first, and some that wait in lanes, including the oldest of these.
async fn waiting(
    link: &Link,
    shard: Shard,
    to: &DestinationId,
) -> Result<(Vec<EventId>, Vec<EventId>), Failure> {
    let part = |set: String, first: i64, last: i64| Command::new("ZRANGE", set).number(first).number(last);
    let commands = vec![
        part(format!("q{to}"), 0, END_MAX - 1),
        part(format!("q{to}"), -END_MAX, -1),
        part(format!("s{to}"), 0, END_MAX - 1),
        part(format!("s{to}"), -END_MAX, -1),
        part(format!("w{to}"), 0, 0),
        part("j".to_owned(), 0, STEPS_MAX - 1),
    ];
    let mut snapshot = link.read(shard, commands).await?;
    let mut due = Vec::new();
    for _ in 0..4 {
        due.extend(ids(snapshot.next()?)?);
    }
    due.sort_unstable();
    due.dedup();
    let mut in_lanes = ids(snapshot.next()?)?;
    for step in reply::list(snapshot.next()?)? {
        let joining = lanes::joining(&reply::bytes(step)?)?;
        in_lanes.extend(joining.filter(|(_, lane)| lane == to).map(|(id, _)| id));
    }
    Ok((due, in_lanes))
}

fn ids(members: Value) -> Result<Vec<EventId>, Failure> {
    let members = reply::list(members)?.into_iter();
    members
        .map(|id| Ok(EventId::from_bytes(sixteen(&reply::bytes(id)?)?)))
        .collect()
}

/// The unfinished deliveries of some events for a destination.
async fn works(
    link: &Link,
    shard: Shard,
    to: &DestinationId,
    ids: &[EventId],
) -> Result<Vec<Option<Work>>, Failure> {
    let commands = ids
        .iter()
        .map(|id| Command::new("HGET", event_key(*id)).arg(format!("w{to}")));
    let answers = link.read(shard, commands.collect()).await?.answers;
    answers
        .map(|answer| {
            let found = reply::optional_bytes(answer)?;
            found.map(|work| packed::unpack(&work, "work")).transpose()
        })
        .collect()
}
