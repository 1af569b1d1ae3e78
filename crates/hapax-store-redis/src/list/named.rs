//! Events by the provider's id, looked up in the ledger in every scope, or by the Hapax id.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::try_join_all;
use hapax_core::{EventId, Identity, Key};

use crate::failure::Failure;
use crate::identity::earlier;
use crate::ledger::{self, Entry};
use crate::link::{Link, on_each};
use crate::shards::Shard;
use crate::snapshot::Command;
use crate::{reply, spread};

/// Scopes tried for a provider's event id.
const SCOPES_MAX: usize = 10_000;
/// Identities looked up in one call.
const CALL_MAX: usize = 500;

/// The ids of all events that have or had the provider's id, or whose Hapax id it is, newest first. Some may be
/// deleted.
pub(super) async fn ids(link: &Arc<Link>, event_id: &str) -> Result<Vec<EventId>, Failure> {
    let keys: Vec<Key> = scopes(link)
        .await?
        .into_iter()
        .take(SCOPES_MAX)
        .map(|scope| Identity::new(scope, event_id).key())
        .collect();
    let by_shard = spread::by_shard(keys, |key| link.shards().of_key(*key));
    let calls = by_shard.iter().flat_map(|(shard, keys)| {
        let chunks = keys.chunks(CALL_MAX);
        chunks.map(|keys| known(link, *shard, keys))
    });
    let mut ids: Vec<EventId> = try_join_all(calls).await?.into_iter().flatten().collect();
    ids.extend(event_id.parse::<EventId>().ok());
    ids.sort_unstable_by_key(|id| Reverse(*id));
    ids.dedup();
    Ok(ids)
}

/// Every scope that any shard knows.
pub(crate) async fn scopes(link: &Arc<Link>) -> Result<BTreeSet<String>, Failure> {
    let known = on_each(link, |link, shard| async move {
        let scopes = link.read(shard, vec![Command::new("HKEYS", "o")]).await?.next()?;
        let scopes = reply::list(scopes)?.into_iter();
        scopes.map(reply::text).collect::<Result<Vec<_>, _>>()
    });
    Ok(known.await?.into_iter().flatten().collect())
}

/// The ids of the events that these identities have or had.
async fn known(link: &Link, shard: Shard, keys: &[(usize, Key)]) -> Result<Vec<EventId>, Failure> {
    let commands = keys.iter().flat_map(|(_, key)| {
        [
            Command::new("HGET", format!("l{}", ledger::bucket(*key))).arg(*key.as_bytes()),
            Command::new("HGET", "k").arg(*key.as_bytes()),
        ]
    });
    let mut snapshot = link.read(shard, commands.collect()).await?;
    let mut ids = Vec::new();
    for _ in keys {
        if let Some(entry) = reply::optional_bytes(snapshot.next()?)? {
            ids.push(Entry::from_bytes(&entry)?.known.id);
        }
        ids.extend(earlier(
            &reply::optional_bytes(snapshot.next()?)?.unwrap_or_default(),
        ));
    }
    Ok(ids)
}
