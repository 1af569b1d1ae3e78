//! Scopes and the numbers that stand for them in a shard.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use redis::Value;

use crate::failure::{Failure, damaged};
use crate::link::{Link, on_each};
use crate::reply;
use crate::shards::Shard;
use crate::snapshot::{Change, Command, ROUNDS_MAX};

/// Every scope of a shard with its number.
pub(super) async fn known(link: &Link, shard: Shard) -> Result<BTreeMap<String, u16>, Failure> {
    let scopes = link
        .read(shard, vec![Command::new("HGETALL", "o")])
        .await?
        .next()?;
    let mut known = BTreeMap::new();
    for (scope, number) in reply::pairs(scopes)? {
        let scope = String::from_utf8(scope).map_err(|_| damaged("a scope"))?;
        let number = reply::number(Value::BulkString(number))?;
        let number = u16::try_from(number).map_err(|_| damaged("the number of a scope"))?;
        known.insert(scope, number);
    }
    Ok(known)
}

/// Every scope of every shard.
pub(super) async fn all(link: &Arc<Link>) -> Result<BTreeSet<String>, Failure> {
    let shards = on_each(link, |link, shard| async move { known(&link, shard).await }).await?;
    Ok(shards.into_iter().flat_map(BTreeMap::into_keys).collect())
}

/// The numbers of a shard's scopes, after giving these scopes one.
pub(super) async fn numbered(
    link: &Link,
    shard: Shard,
    scopes: &BTreeSet<&str>,
) -> Result<BTreeMap<String, u16>, Failure> {
    for _ in 0..ROUNDS_MAX {
        let known = known(link, shard).await?;
        let mut change = Change::default();
        let missing = scopes.iter().filter(|scope| !known.contains_key(**scope));
        for (number, scope) in (known.len() + 1..).zip(missing) {
            change = change.when("o", *scope, "");
            change.then(Command::new("HSET", "o").arg(*scope).number(number));
        }
        if change.is_empty() {
            return Ok(known);
        }
        link.apply_one(shard, change).await?;
    }
    Err(Failure::Contended)
}
