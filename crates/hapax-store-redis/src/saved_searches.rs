//! Saved searches: queries with names, in the first shard.

use hapax_core::store::{SAVED_SEARCHES_MAX, SavedSearch};

use crate::failure::Failure;
use crate::link::Link;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};
use crate::{json, reply};

/// Name → search.
const VIEWS: &str = "V";
/// Changes whenever a search is stored, so that two concurrent calls do not both take the last slot.
const VERSION: (&str, &str) = ("m", "views");

/// Stores a search, replacing any with the same name. Returns whether there was room.
pub(crate) async fn put(link: &Link, search: &SavedSearch) -> Result<bool, Failure> {
    let name = search.name.as_str();
    for _ in 0..ROUNDS_MAX {
        let commands = vec![
            Command::new("HGET", VERSION.0).arg(VERSION.1),
            Command::new("HLEN", VIEWS),
            Command::new("HEXISTS", VIEWS).arg(name),
        ];
        let mut snapshot = link.read_and_take(HOME, commands, 1).await?;
        let version = reply::optional_bytes(snapshot.next()?)?.unwrap_or_default();
        let kept = reply::number(snapshot.next()?)?;
        let own = reply::number(snapshot.next()?)?;
        if kept - own >= SAVED_SEARCHES_MAX as u64 {
            return Ok(false);
        }
        let mut change = Change::default().when(VERSION.0, VERSION.1, version);
        change.then(Command::new("HSET", VIEWS).arg(name).arg(json::write(search)?));
        let next = Command::new("HSET", VERSION.0).arg(VERSION.1);
        change.then(next.number(snapshot.number));
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(true);
        }
    }
    Err(Failure::Contended)
}

/// Deletes a search. Returns whether there was one.
pub(crate) async fn delete(link: &Link, name: &str) -> Result<bool, Failure> {
    for _ in 0..ROUNDS_MAX {
        let command = Command::new("HGET", VIEWS).arg(name);
        let Some(search) = reply::optional_bytes(link.read(HOME, vec![command]).await?.next()?)? else {
            return Ok(false);
        };
        let mut change = Change::default().when(VIEWS, name, search);
        change.then(Command::new("HDEL", VIEWS).arg(name));
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(true);
        }
    }
    Err(Failure::Contended)
}

/// Every search, by name.
pub(crate) async fn list(link: &Link) -> Result<Vec<SavedSearch>, Failure> {
    let command = Command::new("HGETALL", VIEWS);
    let kept = reply::pairs(link.read(HOME, vec![command]).await?.next()?)?;
    let mut saved_searches: Vec<SavedSearch> = kept
        .iter()
        .map(|(_, search)| json::read(search, "a saved search"))
        .collect::<Result<_, _>>()?;
    saved_searches.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(saved_searches)
}
