//! Alert state: small values by name, replaced by compare-and-swap, in the first shard.

use hapax_core::store::{ALERTS_MAX, AlertState, KEYRING_NAME};

use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::reply;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};

/// Name → the value after a marker byte, since stored values must not be empty.
const ALERTS: &str = "F";
const MARK: u8 = b'=';
/// Changes whenever an alert is added, so that two concurrent calls do not both take the last slot.
const VERSION: (&str, &str) = ("m", "alerts");

/// Replaces one value with another and returns whether it did.
pub(crate) async fn swap(
    link: &Link,
    name: &str,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
) -> Result<bool, Failure> {
    let (before, after) = (before.as_deref().map(marked), after.as_deref().map(marked));
    for _ in 0..ROUNDS_MAX {
        let commands = vec![
            Command::new("HGET", ALERTS).arg(name),
            Command::new("HLEN", ALERTS),
            Command::new("HEXISTS", ALERTS).arg(KEYRING_NAME),
            Command::new("HGET", VERSION.0).arg(VERSION.1),
        ];
        let mut snapshot = link.read_and_take(HOME, commands, 1).await?;
        let found = reply::optional_bytes(snapshot.next()?)?;
        let kept = reply::number(snapshot.next()?)? - reply::number(snapshot.next()?)?;
        let version = reply::optional_bytes(snapshot.next()?)?.unwrap_or_default();
        let is_new = before.is_none() && after.is_some();
        if found != before || is_new && kept >= ALERTS_MAX as u64 {
            return Ok(false);
        }
        let mut change = Change::default().when(ALERTS, name, before.clone().unwrap_or_default());
        if is_new {
            change = change.when(VERSION.0, VERSION.1, version);
            let next = Command::new("HSET", VERSION.0).arg(VERSION.1);
            change.then(next.number(snapshot.number));
        }
        change.then(match &after {
            Some(after) => Command::new("HSET", ALERTS).arg(name).arg(after.clone()),
            None => Command::new("HDEL", ALERTS).arg(name),
        });
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(true);
        }
    }
    Err(Failure::Contended)
}

/// The state of every alert, by name.
pub(crate) async fn list(link: &Link) -> Result<Vec<AlertState>, Failure> {
    let command = Command::new("HGETALL", ALERTS);
    let kept = reply::pairs(link.read(HOME, vec![command]).await?.next()?)?;
    let mut alerts: Vec<AlertState> = kept
        .iter()
        .map(|(name, value)| read(name, value))
        .collect::<Result<_, _>>()?;
    alerts.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(alerts)
}

fn marked(value: &[u8]) -> Vec<u8> {
    [&[MARK], value].concat()
}

fn read(name: &[u8], value: &[u8]) -> Result<AlertState, Failure> {
    let unreadable = || damaged("the state of an alert");
    Ok(AlertState {
        name: String::from_utf8(name.to_vec()).map_err(|_| unreadable())?,
        value: value.strip_prefix(&[MARK]).ok_or_else(unreadable)?.to_vec(),
    })
}
