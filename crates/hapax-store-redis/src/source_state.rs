//! Small values that sources keep in addition to their events: in the first shard, by source and name.

use hapax_core::SourceName;
use hapax_core::store::SourceState;

use crate::event::split;
use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::reply;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};

/// Source and name → the value after a marker byte, since stored values must not be empty.
const STATES: &str = "S";
const MARK: u8 = b'=';

/// Stores a value, replacing any with the same name.
pub(crate) async fn put(link: &Link, state: &SourceState) -> Result<(), Failure> {
    let mut change = Change::default();
    change.then(keep(state));
    link.apply_one(HOME, change).await?;
    Ok(())
}

/// Removes a value and stores its replacement in the same step. Returns whether there was one.
pub(crate) async fn take(
    link: &Link,
    source: &SourceName,
    name: &str,
    put: Option<&SourceState>,
) -> Result<bool, Failure> {
    let field = field(source, name);
    for _ in 0..ROUNDS_MAX {
        let command = Command::new("HGET", STATES).arg(field.clone());
        let Some(value) = reply::optional_bytes(link.read(HOME, vec![command]).await?.next()?)? else {
            return Ok(false);
        };
        let mut change = Change::default().when(STATES, field.clone(), value);
        change.then(Command::new("HDEL", STATES).arg(field.clone()));
        if let Some(state) = put {
            change.then(keep(state));
        }
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(true);
        }
    }
    Err(Failure::Contended)
}

/// The value stored under a name.
pub(crate) async fn find(
    link: &Link,
    source: &SourceName,
    name: &str,
) -> Result<Option<SourceState>, Failure> {
    let field = field(source, name);
    let command = Command::new("HGET", STATES).arg(field.clone());
    let value = reply::optional_bytes(link.read(HOME, vec![command]).await?.next()?)?;
    value.map(|value| read(&field, &value)).transpose()
}

/// Every stored value, by source and name.
pub(crate) async fn list(link: &Link) -> Result<Vec<SourceState>, Failure> {
    let command = Command::new("HGETALL", STATES);
    let kept = reply::pairs(link.read(HOME, vec![command]).await?.next()?)?;
    let mut states: Vec<SourceState> = kept
        .into_iter()
        .map(|(field, value)| read(&field, &value))
        .collect::<Result<_, _>>()?;
    states.sort_by(|one, other| (&one.source, &one.name).cmp(&(&other.source, &other.name)));
    Ok(states)
}

fn keep(state: &SourceState) -> Command {
    Command::new("HSET", STATES)
        .arg(field(&state.source, &state.name))
        .arg([&[MARK], &state.value[..]].concat())
}

fn field(source: &SourceName, name: &str) -> Vec<u8> {
    format!("{source}\0{name}").into_bytes()
}

fn read(field: &[u8], value: &[u8]) -> Result<SourceState, Failure> {
    let unreadable = || damaged("a value of a source");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| unreadable());
    let (source, name) = split(field)?;
    Ok(SourceState {
        source: text(source)?.into(),
        name: text(name)?,
        value: value.strip_prefix(&[MARK]).ok_or_else(unreadable)?.to_vec(),
    })
}
