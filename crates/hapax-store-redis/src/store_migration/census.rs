//! The number of records of each kind, counted row by row.

use std::sync::Arc;

use hapax_core::EventId;
use hapax_core::store::Census;

use super::bodies;
use super::walk::{Line, Walk};
use crate::audit::TRAIL;
use crate::event::sixteen;
use crate::failure::Failure;
use crate::identity::event_key;
use crate::jobs::JOBS;
use crate::link::{Link, on_each};
use crate::pauses::PAUSES;
use crate::shards::{HOME, Shard};
use crate::snapshot::Command;
use crate::{duplicates, reply, spread};

/// Identities read in one batch.
const AT_ONCE: usize = 1_000;

pub(super) async fn census(link: &Arc<Link>) -> Result<Census, Failure> {
    let mut census = Census {
        bodies: bodies::count(link).await?,
        numbers_below: numbers_below(link).await?,
        ..Census::default()
    };
    let commands = vec![
        Command::new("HLEN", PAUSES),
        Command::new("HLEN", JOBS),
        Command::new("ZCARD", TRAIL),
    ];
    let mut snapshot = link.read(HOME, commands).await?;
    census.pauses = reply::number(snapshot.next()?)?;
    census.jobs = reply::number(snapshot.next()?)?;
    census.audit = reply::number(snapshot.next()?)?;
    let mut walk = Walk::after(None);
    loop {
        let lines = walk.next(link, AT_ONCE).await?;
        if lines.is_empty() {
            return Ok(census);
        }
        count(link, lines, &mut census).await?;
    }
}

async fn count(link: &Link, lines: Vec<Line>, census: &mut Census) -> Result<(), Failure> {
    census.identities += lines.len() as u64;
    for (shard, lines) in spread::by_shard(lines, |line| line.shard) {
        for lines in lines.chunks(AT_ONCE) {
            count_events(link, shard, lines, census).await?;
        }
    }
    Ok(())
}

/// Counts the records of the events of some identities by the names of their fields.
async fn count_events(
    link: &Link,
    shard: Shard,
    lines: &[(usize, Line)],
    census: &mut Census,
) -> Result<(), Failure> {
    let events = lines.iter().flat_map(|(_, line)| &line.events);
    let fields = events.map(|id| Command::new("HKEYS", event_key(*id)));
    for fields in link.read(shard, fields.collect()).await?.answers {
        for field in reply::list(fields)? {
            match reply::bytes(field)?.first() {
                Some(b'h') => census.events += 1,
                Some(b'w') => census.unfinished += 1,
                Some(b'o') => census.outcomes += 1,
                Some(b'a') => census.attempts += 1,
                Some(b'c') => census.conflicts += 1,
                Some(b's') => census.same_bodies += 1,
                Some(_) | None => {}
            }
        }
    }
    let tallies = lines.iter().map(|(_, line)| duplicates::look(line.key));
    for tally in link.read(shard, tallies.collect()).await?.answers {
        census.duplicates += u64::from(reply::optional_bytes(tally)?.is_some());
    }
    Ok(())
}

/// A number above every number that a shard has issued, and above the order of every event, as exported.
async fn numbers_below(link: &Arc<Link>) -> Result<u64, Failure> {
    let greatest = on_each(link, |link, shard| async move {
        let last = Command::new("ZREVRANGEBYLEX", "t").arg("+").arg("-");
        let last = last.arg("LIMIT").number(0).number(1);
        let commands = vec![Command::new("HGET", "m").arg("token"), last];
        let mut snapshot = link.read(shard, commands).await?;
        let token = match snapshot.next()? {
            redis::Value::Nil => 0,
            token => reply::number(token)?,
        };
        let order = match reply::list(snapshot.next()?)?.pop() {
            Some(id) => EventId::from_bytes(sixteen(&reply::bytes(id)?)?).order(),
            None => 0,
        };
        Ok(token.max(EventId::order_in_micros(order)))
    });
    Ok(greatest.await?.into_iter().max().unwrap_or(0) + 1)
}
