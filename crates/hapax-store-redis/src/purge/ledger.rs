//! Expired ledger entries without stored events.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use hapax_core::store::PurgeOrder;
use hapax_core::{EventId, Key, Timestamp};
use redis::Value;

use super::events::conflict_key;
use super::{AT_ONCE, Budget};
use crate::event::sixteen;
use crate::failure::Failure;
use crate::identity::{earlier, event_key};
use crate::ledger::{self, Entry};
use crate::link::Link;
use crate::reply;
use crate::script::LOOK;
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Made, Room};

const MICROS_OF_AN_HOUR: i64 = 3_600_000_000;
/// The list of an hour that is this long past and empty gets no more entries.
const HOURS_KEPT: i64 = 24;

/// The position of a walk: an hour, and how many of its entries stay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    hour: i64,
    kept: usize,
}

/// The result of a walk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walked {
    /// Its position, unless it reached the end.
    pub(super) reached: Option<Reached>,
    pub(super) deleted: u64,
    /// Expired entries that stay for their events.
    pub(super) kept: usize,
}

/// Walks the entries of a shard by the hour of their expiry.
pub(super) async fn purge(
    link: &Link,
    shard: Shard,
    order: &PurgeOrder,
    from: Reached,
    mut budget: Budget,
) -> Result<Walked, Failure> {
    let (hours, scopes) = plan(link, shard, order.ledger_before).await?;
    let mut walked = Walked::default();
    let mut reached = from;
    for hour in hours.into_iter().filter(|hour| *hour >= from.hour) {
        if hour != reached.hour {
            reached = Reached { hour, kept: 0 };
        }
        loop {
            let keys = page(link, shard, reached, budget.page()).await?;
            if keys.is_empty() {
                break;
            }
            if budget.is_spent() {
                walked.reached = Some(reached);
                return Ok(walked);
            }
            let some = keys
                .chunks(AT_ONCE)
                .map(|some| entries(link, shard, some, hour, order.ledger_before, &scopes));
            let gone = try_join_all(some)
                .await?
                .into_iter()
                .fold(Gone::default(), Gone::and);
            budget.spend(keys.len(), gone.entries);
            walked.deleted += gone.entries as u64;
            let left = keys.len() - gone.entries - gone.stale;
            walked.kept += left - gone.young;
            reached.kept += left;
            // Entries are in the order of their expiry: those after these are younger still.
            if gone.young == keys.len() {
                break;
            }
        }
    }
    Ok(walked)
}

/// The hours that have expired, and the names of scopes by number. Hours that have long been empty are deleted.
async fn plan(
    link: &Link,
    shard: Shard,
    before: Timestamp,
) -> Result<(Vec<i64>, HashMap<u16, String>), Failure> {
    let last = before.as_micros().div_euclid(MICROS_OF_AN_HOUR);
    let commands = vec![
        Command::new("ZRANGEBYSCORE", "h").arg("-inf").number(last),
        Command::new("HGETALL", "o"),
    ];
    let mut snapshot = link.read(shard, commands).await?;
    let now = snapshot.now.as_micros().div_euclid(MICROS_OF_AN_HOUR);
    let mut hours = Vec::new();
    for hour in reply::list(snapshot.next()?)? {
        hours.push(reply::number(hour)? as i64);
    }
    let mut scopes = HashMap::new();
    for (name, number) in reply::pairs(snapshot.next()?)? {
        let number = reply::number(Value::BulkString(number))? as u16;
        scopes.insert(number, String::from_utf8_lossy(&name).into_owned());
    }
    let past: Vec<i64> = hours
        .iter()
        .copied()
        .filter(|hour| *hour < now - HOURS_KEPT)
        .collect();
    if !past.is_empty() {
        forget_empty(link, shard, &past).await?;
    }
    Ok((hours, scopes))
}

async fn forget_empty(link: &Link, shard: Shard, hours: &[i64]) -> Result<(), Failure> {
    let lengths = hours
        .iter()
        .map(|hour| Command::new("LLEN", format!("x{hour}")))
        .collect();
    let mut snapshot = link.read(shard, lengths).await?;
    let mut change = Change::default();
    for hour in hours {
        if reply::number(snapshot.next()?)? == 0 {
            change.then(Command::new("ZREM", "h").number(hour));
        }
    }
    if !change.is_empty() {
        link.apply_one(shard, change).await?;
    }
    Ok(())
}

/// The next keys of an hour, after those that stay.
async fn page(link: &Link, shard: Shard, reached: Reached, limit: usize) -> Result<Vec<Key>, Failure> {
    let command = Command::new("LRANGE", format!("x{}", reached.hour))
        .number(reached.kept)
        .number(reached.kept + limit - 1);
    let keys = reply::list(link.read(shard, vec![command]).await?.next()?)?;
    keys.into_iter()
        .map(|key| Ok(Key::from_bytes(sixteen(&reply::bytes(key)?)?)))
        .collect()
}

/// The number of deleted entries, of list items without an entry, and of entries that have not expired.
#[derive(Clone, Copy, Debug, Default)]
struct Gone {
    entries: usize,
    stale: usize,
    young: usize,
}

impl Gone {
    const fn and(self, other: Self) -> Self {
        Self {
            entries: self.entries + other.entries,
            stale: self.stale + other.stale,
            young: self.young + other.young,
        }
    }
}

async fn entries(
    link: &Link,
    shard: Shard,
    keys: &[Key],
    hour: i64,
    before: Timestamp,
    scopes: &HashMap<u16, String>,
) -> Result<Gone, Failure> {
    let mut commands = Vec::with_capacity(keys.len() * 2);
    for key in keys {
        commands.push(Command::new("HGET", ledger_key(*key)).arg(*key.as_bytes()));
        commands.push(Command::new("HGET", "k").arg(*key.as_bytes()));
    }
    let mut snapshot = link.read(shard, commands).await?;
    let mut stale = Vec::new();
    let mut expired = Vec::new();
    let mut young = 0;
    for key in keys {
        let entry = reply::optional_bytes(snapshot.next()?)?;
        let mut ids = earlier(&reply::optional_bytes(snapshot.next()?)?.unwrap_or_default());
        let entry = entry.map(|bytes| Entry::from_bytes(&bytes)).transpose()?;
        // An identity that was forgotten and taken again expires with its later entry.
        let entry = entry.filter(|entry| hour_of(entry.known.expires_at) == hour);
        match entry {
            None => stale.push(out_of_list(Change::default(), hour, *key)),
            Some(entry) if entry.known.expires_at < before => {
                ids.push(entry.known.id);
                let key = *key;
                expired.push(Expired { key, entry, ids });
            }
            Some(_) => young += 1,
        }
    }
    link.apply(shard, &stale, Room::NotNeeded).await?;
    let entries = remove(link, shard, hour, expired, scopes).await?;
    Ok(Gone {
        entries,
        stale: stale.len(),
        young,
    })
}

/// An expired entry, with the ids of all events that ever had its identity.
struct Expired {
    key: Key,
    entry: Entry,
    ids: Vec<EventId>,
}

async fn remove(
    link: &Link,
    shard: Shard,
    hour: i64,
    expired: Vec<Expired>,
    scopes: &HashMap<u16, String>,
) -> Result<usize, Failure> {
    let ids = expired.iter().flat_map(|expired| &expired.ids);
    let mut args = vec![link.floor()];
    args.extend(ids.map(|id| id.as_bytes().to_vec()));
    let mut events = reply::list(link.call(shard, &LOOK, &args).await?)?.into_iter();
    let mut changes = Vec::with_capacity(expired.len());
    for expired in &expired {
        let fields: Vec<Fields> = events
            .by_ref()
            .take(expired.ids.len())
            .map(reply::pairs)
            .collect::<Result<_, _>>()?;
        changes.extend(expired.removal(hour, &fields, scopes));
    }
    let made = link.apply(shard, &changes, Room::NotNeeded).await?;
    Ok(made.into_iter().filter(|made| *made == Made::Yes).count())
}

type Fields = reply::Pairs;

impl Expired {
    /// Its deletion, unless one of its events exists.
    fn removal(&self, hour: i64, events: &[Fields], scopes: &HashMap<u16, String>) -> Option<Change> {
        let (key, entry) = (self.key, &self.entry);
        let mut change = Change::default().when(ledger_key(key), *key.as_bytes(), entry.to_bytes());
        for (id, fields) in self.ids.iter().zip(events) {
            if fields.iter().any(|(name, _)| name == b"h") {
                return None;
            }
            change = change.when(event_key(*id), "h", "");
            // Conflicts that arrived when the first event had already been deleted.
            for (name, _) in fields.iter().filter(|(name, _)| name.first() == Some(&b'c')) {
                change.then(Command::new("UNLINK", conflict_key(*id, &name[1..])));
            }
            if !fields.is_empty() {
                change.then(Command::new("UNLINK", event_key(*id)));
            }
        }
        change.then(Command::new("HDEL", ledger_key(key)).arg(*key.as_bytes()));
        change.then(Command::new("HDEL", "k").arg(*key.as_bytes()));
        change.then(Command::new("HDEL", format!("c{}", ledger::bucket(key))).arg(*key.as_bytes()));
        if let Some(scope) = scopes.get(&entry.scope) {
            change.then(
                Command::new("HINCRBY", "n")
                    .arg(format!("ledger:{scope}"))
                    .number(-1),
            );
        }
        Some(out_of_list(change, hour, key))
    }
}

fn out_of_list(mut change: Change, hour: i64, key: Key) -> Change {
    change.then(
        Command::new("LREM", format!("x{hour}"))
            .number(1)
            .arg(*key.as_bytes()),
    );
    change
}

fn ledger_key(key: Key) -> String {
    format!("l{}", ledger::bucket(key))
}

const fn hour_of(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(MICROS_OF_AN_HOUR)
}
