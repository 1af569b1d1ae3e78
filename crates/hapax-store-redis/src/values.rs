//! Small values with names: in the first shard, in one hash per kind of space.

use hapax_core::SourceName;
use hapax_core::store::{Expected, NamedValue, Swapped, ValueSpace, ValueSwap};

use crate::event::split;
use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::reply;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};

/// Name → saved search.
const SAVED_SEARCHES: &str = "V";
/// Name → the state of an alert, after the mark.
const ALERTS: &str = "F";
/// Source and name → value, after the mark.
const SOURCES: &str = "S";
/// Begins values that may be empty, since stored ones must not be.
const MARK: u8 = b'=';
/// The hash with the versions of spaces that have a limit. A version changes whenever a value may be added, so that two
/// concurrent calls do not both take the last slot.
const VERSIONS: &str = "m";

/// Replaces a value if it is as expected.
pub(crate) async fn swap(link: &Link, swap: &ValueSwap) -> Result<Swapped, Failure> {
    let (hash, field) = (hash(&swap.space), field(&swap.space, &swap.name));
    let version = version(&swap.space).filter(|_| swap.may_add());
    for _ in 0..ROUNDS_MAX {
        let mut commands = vec![Command::new("HGET", hash).arg(field.clone())];
        if let Some(version) = version {
            commands.push(Command::new("HGET", VERSIONS).arg(version));
            commands.push(Command::new("HKEYS", hash));
        }
        let numbers = usize::from(version.is_some());
        let mut snapshot = link.read_and_take(HOME, commands, numbers).await?;
        let stored = reply::optional_bytes(snapshot.next()?)?;
        let found = stored
            .as_deref()
            .map(|stored| opened(&swap.space, stored))
            .transpose()?;
        if !swap.expected.is_met_by(found) {
            return Ok(Swapped::Differs);
        }
        let mut change = Change::default();
        if swap.expected != Expected::Anything {
            change = change.when(hash, field.clone(), stored.clone().unwrap_or_default());
        }
        if let Some(version) = version {
            let before = reply::optional_bytes(snapshot.next()?)?.unwrap_or_default();
            let names = reply::list(snapshot.next()?)?.into_iter().map(reply::text);
            let names: Vec<String> = names.collect::<Result<_, _>>()?;
            if !swap.has_room(names.iter().map(String::as_str)) {
                return Ok(Swapped::Full);
            }
            change = change.when(VERSIONS, version, before);
            let next = Command::new("HSET", VERSIONS).arg(version);
            change.then(next.number(snapshot.numbers.at(0)));
        }
        change.then(Command::new("HDEL", hash).arg(field.clone()));
        if let Some(put) = &swap.put {
            let value = stored_form(&swap.space, &put.value);
            let put = Command::new("HSET", hash).arg(self::field(&swap.space, &put.name));
            change.then(put.arg(value));
        }
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(Swapped::Done);
        }
    }
    Err(Failure::Contended)
}

/// The value with a name.
pub(crate) async fn value(link: &Link, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let command = Command::new("HGET", hash(space)).arg(field(space, name));
    let stored = reply::optional_bytes(link.read(HOME, vec![command]).await?.next()?)?;
    let value = stored.as_deref().map(|stored| opened(space, stored));
    Ok(value.transpose()?.map(<[u8]>::to_vec))
}

/// All values of a space, by name.
pub(crate) async fn values(link: &Link, space: &ValueSpace) -> Result<Vec<NamedValue>, Failure> {
    let command = Command::new("HGETALL", hash(space));
    let mut values = Vec::new();
    for (field, stored) in reply::pairs(link.read(HOME, vec![command]).await?.next()?)? {
        let name = match space {
            ValueSpace::SavedSearches | ValueSpace::Alerts => &field[..],
            ValueSpace::Source(of) => match split(&field)? {
                (source, name) if source == of.as_str().as_bytes() => name,
                _ => continue,
            },
        };
        values.push(NamedValue::new(text(name)?, opened(space, &stored)?));
    }
    values.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(values)
}

/// The sources that have values.
pub(crate) async fn sources(link: &Link) -> Result<Vec<SourceName>, Failure> {
    let command = Command::new("HKEYS", SOURCES);
    let fields = reply::list(link.read(HOME, vec![command]).await?.next()?)?;
    let source = |field| Ok(text(split(&reply::bytes(field)?)?.0)?.into());
    let mut sources: Vec<SourceName> = fields.into_iter().map(source).collect::<Result<_, Failure>>()?;
    sources.sort();
    sources.dedup();
    Ok(sources)
}

const fn hash(space: &ValueSpace) -> &'static str {
    match space {
        ValueSpace::SavedSearches => SAVED_SEARCHES,
        ValueSpace::Alerts => ALERTS,
        ValueSpace::Source(_) => SOURCES,
    }
}

const fn version(space: &ValueSpace) -> Option<&'static str> {
    match space {
        ValueSpace::SavedSearches => Some("views"),
        ValueSpace::Alerts => Some("alerts"),
        ValueSpace::Source(_) => None,
    }
}

fn field(space: &ValueSpace, name: &str) -> Vec<u8> {
    match space {
        ValueSpace::SavedSearches | ValueSpace::Alerts => name.into(),
        ValueSpace::Source(source) => format!("{source}\0{name}").into_bytes(),
    }
}

fn stored_form(space: &ValueSpace, value: &[u8]) -> Vec<u8> {
    match space {
        ValueSpace::SavedSearches => value.to_vec(),
        ValueSpace::Alerts | ValueSpace::Source(_) => [&[MARK], value].concat(),
    }
}

fn opened<'s>(space: &ValueSpace, stored: &'s [u8]) -> Result<&'s [u8], Failure> {
    match space {
        ValueSpace::SavedSearches => Ok(stored),
        ValueSpace::Alerts | ValueSpace::Source(_) => stored
            .strip_prefix(&[MARK])
            .ok_or_else(|| damaged("a named value")),
    }
}

fn text(bytes: &[u8]) -> Result<String, Failure> {
    String::from_utf8(bytes.to_vec()).map_err(|_| damaged("the name of a value"))
}
