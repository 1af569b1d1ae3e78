//! Distributing the items of a call to their shards, and putting the answers back in order.

use std::collections::BTreeMap;

use crate::failure::{Failure, damaged};
use crate::shards::Shard;

/// Items by shard, each with its place.
pub(crate) fn by_shard<T>(items: Vec<T>, shard: impl Fn(&T) -> Shard) -> BTreeMap<Shard, Vec<(usize, T)>> {
    let mut by_shard: BTreeMap<Shard, Vec<(usize, T)>> = BTreeMap::new();
    for (place, item) in items.into_iter().enumerate() {
        by_shard.entry(shard(&item)).or_default().push((place, item));
    }
    by_shard
}

/// The answers of all calls, by place. All must succeed.
pub(crate) async fn in_order<T, F>(calls: impl Iterator<Item = F>) -> Result<Vec<T>, Failure>
where
    F: Future<Output = Result<Vec<(usize, T)>, Failure>>,
{
    let answers = futures_util::future::join_all(calls).await;
    let mut all: Vec<(usize, T)> = Vec::new();
    for answer in answers {
        all.extend(answer?);
    }
    all.sort_by_key(|(place, _)| *place);
    let is_whole = all
        .iter()
        .enumerate()
        .all(|(expected, (place, _))| expected == *place);
    if !is_whole {
        return Err(damaged("the answers of several shards"));
    }
    Ok(all.into_iter().map(|(_, answer)| answer).collect())
}
