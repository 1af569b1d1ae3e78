//! Paused destinations: each pause is stored once, and every shard has the names, since every lease checks them.
//!
//! No step changes several shards at once. So a process that changes a pause updates the shards afterwards, and then
//! checks whether the stored pause is still the one that it wrote: if two processes change the same pause at once, the
//! last to check leaves all shards correct. Changes that were left half done are completed when a store is opened.

use std::collections::BTreeSet;
use std::sync::Arc;

use hapax_core::DestinationId;
use hapax_core::store::Pause;

use crate::event;
use crate::failure::Failure;
use crate::link::{Link, on_each};
use crate::shards::{HOME, Shard};
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};
use crate::{json, reply};

/// Destination → pause, in the first shard.
pub(crate) const PAUSES: &str = "P";
/// Names of paused destinations, in every shard; `scripts/lease.lua` reads it.
const NAMES: &str = "p";

/// Pauses a destination, or updates the reason.
pub(crate) async fn pause(link: &Arc<Link>, pause: &Pause) -> Result<(), Failure> {
    let mut change = Change::default();
    change.then(keep(pause)?);
    link.apply_one(HOME, change).await?;
    align(link, &pause.destination).await
}

/// The command that stores a pause.
pub(crate) fn keep(pause: &Pause) -> Result<Command, Failure> {
    let name = pause.destination.as_str();
    Ok(Command::new("HSET", PAUSES).arg(name).arg(json::write(pause)?))
}

/// Resumes a destination. Returns whether it was paused. The shards come first: until all of them are updated, it is
/// shown as paused.
pub(crate) async fn resume(link: &Arc<Link>, destination: &DestinationId) -> Result<bool, Failure> {
    for _ in 0..ROUNDS_MAX {
        let Some(said) = said(link, destination).await? else {
            return Ok(false);
        };
        write_names(link, destination, Said::Resumed).await?;
        let mut change = Change::default().when(PAUSES, destination.as_str(), said);
        change.then(Command::new("HDEL", PAUSES).arg(destination.as_str()));
        if link.apply_one(HOME, change).await? == Made::Yes {
            align(link, destination).await?;
            return Ok(true);
        }
    }
    Err(Failure::Contended)
}

/// Every pause, by name.
pub(crate) async fn pauses(link: &Link) -> Result<Vec<Pause>, Failure> {
    let command = Command::new("HGETALL", PAUSES);
    let kept = reply::pairs(link.read(HOME, vec![command]).await?.next()?)?;
    let mut pauses: Vec<Pause> = kept
        .iter()
        .map(|(_, pause)| json::read(pause, "a pause"))
        .collect::<Result<_, _>>()?;
    pauses.sort_by(|one, other| one.destination.cmp(&other.destination));
    Ok(pauses)
}

/// Updates the shards for every destination whose stored pause differs from a shard.
pub(crate) async fn align_all(link: &Arc<Link>) -> Result<(), Failure> {
    let said: BTreeSet<DestinationId> = pauses(link)
        .await?
        .into_iter()
        .map(|pause| pause.destination)
        .collect();
    let mut astray = BTreeSet::new();
    for names in on_each(link, names).await? {
        astray.extend(said.symmetric_difference(&names).cloned());
    }
    for destination in astray {
        align(link, &destination).await?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Said {
    Paused,
    Resumed,
}

/// Writes the stored pause to every shard, until it is unchanged afterwards.
async fn align(link: &Arc<Link>, destination: &DestinationId) -> Result<(), Failure> {
    let mut before = said(link, destination).await?;
    for _ in 0..ROUNDS_MAX {
        let said_now = before.as_ref().map_or(Said::Resumed, |_| Said::Paused);
        write_names(link, destination, said_now).await?;
        let after = said(link, destination).await?;
        if after == before {
            return Ok(());
        }
        before = after;
    }
    Err(Failure::Contended)
}

async fn said(link: &Link, destination: &DestinationId) -> Result<Option<Vec<u8>>, Failure> {
    let command = Command::new("HGET", PAUSES).arg(destination.as_str());
    reply::optional_bytes(link.read(HOME, vec![command]).await?.next()?)
}

async fn write_names(link: &Arc<Link>, destination: &DestinationId, said: Said) -> Result<(), Failure> {
    let command = match said {
        Said::Paused => Command::new("HSET", NAMES).arg(destination.as_str()).number(1),
        Said::Resumed => Command::new("HDEL", NAMES).arg(destination.as_str()),
    };
    let mut change = Change::default();
    change.then(command);
    on_each(link, |link, shard| {
        let change = change.clone();
        async move { link.apply_one(shard, change).await }
    })
    .await?;
    Ok(())
}

async fn names(link: Arc<Link>, shard: Shard) -> Result<BTreeSet<DestinationId>, Failure> {
    let names = link
        .read(shard, vec![Command::new("HKEYS", NAMES)])
        .await?
        .next()?;
    let names = reply::list(names)?.into_iter();
    names
        .map(|name| event::destination(&reply::bytes(name)?))
        .collect()
}
