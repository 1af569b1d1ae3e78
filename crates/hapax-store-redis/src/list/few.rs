//! Events with a dead or an unfinished delivery, found by the sets of such deliveries: if there are few, a list need
//! not walk all other events.

use std::cmp::Reverse;
use std::sync::Arc;

use hapax_core::EventId;
use redis::Value;

use crate::failure::{Failure, damaged};
use crate::lanes;
use crate::link::{Link, on_each};
use crate::reply;
use crate::shards::Shard;
use crate::snapshot::Command;

/// Events with a dead delivery, newest first; `None` if there are more than `max` such deliveries.
pub(super) async fn dead(link: &Arc<Link>, max: usize) -> Result<Option<Vec<EventId>>, Failure> {
    let shares = on_each(link, |link, shard| async move {
        let commands = vec![Command::new("ZCARD", "d"), first("d", max)];
        let mut snapshot = link.read(shard, commands).await?;
        let count = reply::number(snapshot.next()?)?;
        Ok((count, ids(snapshot.next()?)?))
    })
    .await?;
    Ok(merged(shares, max))
}

/// Events with an unfinished delivery, newest first; `None` if there are more than `max` such deliveries.
pub(super) async fn unfinished(link: &Arc<Link>, max: usize) -> Result<Option<Vec<EventId>>, Failure> {
    let shares = on_each(link, |link, shard| async move {
        let (count, sets) = sets(&link, shard).await?;
        if count > max as u64 {
            return Ok((count, Vec::new()));
        }
        let mut commands = vec![first("j", max)];
        commands.extend(sets.iter().map(|set| first(set, max)));
        let mut snapshot = link.read(shard, commands).await?;
        let mut found = Vec::new();
        for step in reply::list(snapshot.next()?)? {
            found.extend(lanes::joining(&reply::bytes(step)?)?.map(|(id, _)| id));
        }
        for members in snapshot.answers {
            found.extend(ids(members)?);
        }
        Ok((count, found))
    })
    .await?;
    Ok(merged(shares, max))
}

/// The number of unfinished deliveries of a shard, and the sets that hold them.
async fn sets(link: &Link, shard: Shard) -> Result<(u64, Vec<String>), Failure> {
    let counts = link
        .read(shard, vec![Command::new("HGETALL", "n")])
        .await?
        .next()?;
    let mut unfinished = 0;
    let mut sets = vec!["r".to_owned()];
    for (name, count) in reply::pairs(counts)? {
        let name = String::from_utf8(name).map_err(|_| damaged("a count"))?;
        let count = std::str::from_utf8(&count)
            .ok()
            .and_then(|count| count.parse::<i64>().ok());
        let count = u64::try_from(count.ok_or_else(|| damaged("a count"))?).unwrap_or(0);
        match name.split_once(':') {
            Some(("running", _)) => unfinished += count,
            Some(("pending" | "retrying", to)) if count > 0 => {
                unfinished += count;
                sets.extend(["q", "s", "w"].map(|kind| format!("{kind}{to}")));
            }
            Some(_) | None => {}
        }
    }
    sets.sort_unstable();
    sets.dedup();
    Ok((unfinished, sets))
}

fn first(set: &str, max: usize) -> Command {
    Command::new("ZRANGE", set).number(0).number(max)
}

/// The ids with which members begin.
fn ids(members: Value) -> Result<Vec<EventId>, Failure> {
    let members = reply::list(members)?.into_iter();
    members
        .map(|member| {
            let member = reply::bytes(member)?;
            let id = member.first_chunk().ok_or_else(|| damaged("a delivery"))?;
            Ok(EventId::from_bytes(*id))
        })
        .collect()
}

/// The ids of all shards, newest first, unless there are too many.
fn merged(shares: Vec<(u64, Vec<EventId>)>, max: usize) -> Option<Vec<EventId>> {
    let count: u64 = shares.iter().map(|(count, _)| count).sum();
    if count > max as u64 {
        return None;
    }
    let mut ids: Vec<EventId> = shares.into_iter().flat_map(|(_, ids)| ids).collect();
    ids.sort_unstable_by_key(|id| Reverse(*id));
    ids.dedup();
    Some(ids)
}
