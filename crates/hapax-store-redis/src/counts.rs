//! Counts of everything. Whatever changes maintains its own count, in the hash `n` of its shard; nothing here walks the
//! ledger or the payloads.
//!
//! The size is the total memory that the masters use (`used_memory`), including anything else stored on them: Redis
//! does not say how much of it is ours.

mod oldest;

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::store::{Backlog, Counts, LedgerCount};
use hapax_core::{DeliveryState, DestinationId, Timestamp};

use crate::failure::{Failure, damaged};
use crate::link::{Link, on_each};
use crate::open::info;
use crate::reply;
use crate::shards::Shard;
use crate::snapshot::Command;
use oldest::Oldest;

/// Running and dead deliveries of a shard among which the oldest is searched: the first whose leases end, the first
/// that died.
const ENDED_MAX: usize = 10_000;

/// Deliveries to one destination in one state.
type Kind = (DestinationId, DeliveryState);

/// The counts of one shard, or of several.
#[derive(Debug, Default)]
struct Part {
    deliveries: BTreeMap<Kind, i64>,
    ledger: BTreeMap<String, i64>,
    events: u64,
    /// When the oldest of each kind was accepted.
    oldest: BTreeMap<Kind, Timestamp>,
}

pub(crate) async fn counts(link: &Arc<Link>) -> Result<Counts, Failure> {
    let parts = on_each(link, |link, shard| async move { part(&link, shard).await }).await?;
    let mut all = Part::default();
    for part in parts {
        all.add(part);
    }
    Ok(Counts {
        store_bytes: bytes(link).await?,
        ..all.into_counts()
    })
}

async fn part(link: &Link, shard: Shard) -> Result<Part, Failure> {
    let first = |set: &str| Command::new("ZRANGE", set).number(0).number(ENDED_MAX - 1);
    let commands = vec![
        Command::new("HGETALL", "n"),
        Command::new("ZCARD", "t"),
        first("r"),
        first("d"),
    ];
    let mut snapshot = link.read(shard, commands).await?;
    let mut part = Part::default();
    for (name, count) in reply::pairs(snapshot.next()?)? {
        part.count(&name, &count)?;
    }
    part.events = reply::number(snapshot.next()?)?;
    let mut oldest = Oldest::default();
    oldest.add_members(DeliveryState::Running, snapshot.next()?)?;
    oldest.add_members(DeliveryState::Dead, snapshot.next()?)?;
    for to in part.waited_for() {
        let states = part.waiting(&to);
        oldest.add_waiting(link, shard, &to, &states).await?;
    }
    part.oldest = oldest.accepted_at(link, shard).await?;
    Ok(part)
}

impl Part {
    /// Adds one of the counts that a shard keeps.
    fn count(&mut self, name: &[u8], count: &[u8]) -> Result<(), Failure> {
        let name = std::str::from_utf8(name).ok();
        let count = std::str::from_utf8(count)
            .ok()
            .and_then(|count| count.parse().ok());
        let (Some((what, of)), Some(count)) = (name.and_then(|name| name.split_once(':')), count) else {
            return Err(damaged("a count"));
        };
        if what == "ledger" {
            self.ledger.insert(of.to_owned(), count);
        } else {
            let state = DeliveryState::from_name(what).ok_or_else(|| damaged("a count"))?;
            self.deliveries.insert((of.into(), state), count);
        }
        Ok(())
    }

    /// Destinations with waiting deliveries.
    fn waited_for(&self) -> Vec<DestinationId> {
        let mut all: Vec<DestinationId> = self.deliveries.keys().map(|(to, _)| to.clone()).collect();
        all.dedup();
        all.retain(|to| !self.waiting(to).is_empty());
        all
    }

    /// The states of a destination's waiting deliveries.
    fn waiting(&self, to: &DestinationId) -> Vec<DeliveryState> {
        let count = |state| self.deliveries.get(&(to.clone(), state)).copied().unwrap_or(0);
        let states = [DeliveryState::Pending, DeliveryState::Retrying].into_iter();
        states.filter(|state| count(*state) > 0).collect()
    }

    fn add(&mut self, other: Self) {
        for (kind, count) in other.deliveries {
            *self.deliveries.entry(kind).or_default() += count;
        }
        for (scope, count) in other.ledger {
            *self.ledger.entry(scope).or_default() += count;
        }
        self.events += other.events;
        for (kind, time) in other.oldest {
            let oldest = self.oldest.entry(kind).or_insert(time);
            *oldest = time.min(*oldest);
        }
    }

    fn into_counts(self) -> Counts {
        let (oldest, deliveries) = (self.oldest, self.deliveries.into_iter());
        let backlog = deliveries.filter(|(_, count)| *count > 0);
        let ledger = self.ledger.into_iter().filter(|(_, count)| *count > 0);
        Counts {
            backlog: backlog
                .map(|(kind, count)| Backlog {
                    oldest: oldest.get(&kind).copied(),
                    destination: kind.0,
                    state: kind.1,
                    count: count.unsigned_abs(),
                })
                .collect(),
            ledger: ledger
                .map(|(scope, entries)| LedgerCount {
                    scope: scope.as_str().into(),
                    entries: entries.unsigned_abs(),
                })
                .collect(),
            events: self.events,
            store_bytes: 0,
        }
    }
}

/// Memory that the masters use.
async fn bytes(link: &Link) -> Result<u64, Failure> {
    let mut bytes = 0;
    for master in link.masters().await? {
        let facts = info(link, &master).await?;
        let used: Option<u64> = facts.get("used_memory").and_then(|used| used.parse().ok());
        bytes += used.ok_or_else(|| damaged("the memory that a server uses"))?;
    }
    Ok(bytes)
}
