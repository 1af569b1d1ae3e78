//! Indexed fields: which they are, and since when. In the first shard. The values are in sorted sets next to their
//! events.

use std::collections::HashMap;

use hapax_core::Timestamp;
use hapax_core::store::IndexedField;
use redis::Value;

use crate::failure::Failure;
use crate::link::Link;
use crate::reply;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};

/// Source and pointer → since when, in microseconds.
const FIELDS: &str = "I";
/// Changes whenever fields are declared.
const VERSION: (&str, &str) = ("m", "indexes");

/// Replaces the declared fields. Returns since when each is indexed.
pub(crate) async fn declare(
    link: &Link,
    fields: &[IndexedField],
) -> Result<Vec<(IndexedField, Timestamp)>, Failure> {
    for _ in 0..ROUNDS_MAX {
        let commands = vec![
            Command::new("HGET", VERSION.0).arg(VERSION.1),
            Command::new("HGETALL", FIELDS),
        ];
        let mut snapshot = link.read_and_take(HOME, commands, 1).await?;
        let version = reply::optional_bytes(snapshot.next()?)?.unwrap_or_default();
        let known: HashMap<Vec<u8>, Vec<u8>> = reply::pairs(snapshot.next()?)?.into_iter().collect();
        let mut declared = Vec::with_capacity(fields.len());
        for field in fields {
            let since = known
                .get(&name(field))
                .map(|since| time(since.clone()))
                .transpose()?;
            declared.push((field.clone(), since.unwrap_or(snapshot.now)));
        }
        let change = Change::default().when(VERSION.0, VERSION.1, version);
        let change = replace(change, &declared, snapshot.numbers.at(0));
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(declared);
        }
    }
    Err(Failure::Contended)
}

fn replace(mut change: Change, declared: &[(IndexedField, Timestamp)], version: u64) -> Change {
    change.then(Command::new("DEL", FIELDS));
    for (field, since) in declared {
        let command = Command::new("HSET", FIELDS).arg(name(field));
        change.then(command.number(since.as_micros()));
    }
    change.then(Command::new("HSET", VERSION.0).arg(VERSION.1).number(version));
    change
}

fn name(field: &IndexedField) -> Vec<u8> {
    format!("{}\0{}", field.source, field.pointer).into_bytes()
}

fn time(bytes: Vec<u8>) -> Result<Timestamp, Failure> {
    Ok(Timestamp::from_micros(
        reply::number(Value::BulkString(bytes))? as i64
    ))
}
