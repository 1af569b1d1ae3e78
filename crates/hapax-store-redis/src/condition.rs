//! The condition of a store's servers, as `hapax doctor` shows it.

use std::collections::BTreeMap;

use hapax_core::store::Error;

use crate::RedisStore;
use crate::failure::Failure;
use crate::link::Link;
use crate::open::{info, setting};
use crate::url::Node;

/// A server that has a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub node: String,
    pub version: String,
    /// When answered writes are on its disk.
    pub flushed: Flushed,
    /// Replicas that follow it.
    pub replicas: u64,
    /// Without this many replicas it accepts no writes; `None` if it does not say.
    pub replicas_required: Option<u64>,
    /// Bytes in use.
    pub memory_used: u64,
    /// The limit in bytes; `None` without a limit.
    pub memory_max: Option<u64>,
}

/// When answered writes are on a server's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// Before the answer.
    Always,
    /// Within about a second.
    EverySecond,
    /// When the operating system decides.
    BySystem,
    /// Never: there is no append-only file.
    Never,
    /// There is an append-only file, but the server does not say when it is flushed.
    Unsaid,
}

impl RedisStore {
    /// The condition of each server that has a shard.
    pub async fn condition(&self) -> Result<Vec<Condition>, Error> {
        self.run(async move |link, _| {
            let mut all = Vec::new();
            for node in link.masters().await? {
                all.push(look_at(&link, &node).await?);
            }
            Ok(all)
        })
        .await
    }
}

async fn look_at(link: &Link, node: &Node) -> Result<Condition, Failure> {
    let facts = info(link, node).await?;
    let flushed = setting(link, node, "appendfsync").await;
    let required = setting(link, node, "min-replicas-to-write").await;
    Ok(Condition {
        node: node.to_string(),
        version: facts.get("redis_version").cloned().unwrap_or_default(),
        flushed: Flushed::of(&facts, flushed.as_deref()),
        replicas: number(&facts, "connected_slaves").unwrap_or(0),
        replicas_required: required.and_then(|count| count.parse().ok()),
        memory_used: number(&facts, "used_memory").unwrap_or(0),
        memory_max: number(&facts, "maxmemory").filter(|limit| *limit > 0),
    })
}

impl Flushed {
    fn of(facts: &BTreeMap<String, String>, setting: Option<&str>) -> Self {
        match (facts.get("aof_enabled").map(String::as_str), setting) {
            (Some("0"), _) => Self::Never,
            (_, Some("always")) => Self::Always,
            (_, Some("everysec")) => Self::EverySecond,
            (_, Some("no")) => Self::BySystem,
            (_, _) => Self::Unsaid,
        }
    }
}

fn number(facts: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    facts.get(name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_kept_is_never_flushed_whatever_the_setting_says() {
        let facts = |enabled: &str| BTreeMap::from([("aof_enabled".to_owned(), enabled.to_owned())]);
        assert_eq!(Flushed::of(&facts("0"), Some("always")), Flushed::Never);
        assert_eq!(Flushed::of(&facts("1"), Some("always")), Flushed::Always);
        assert_eq!(Flushed::of(&facts("1"), Some("everysec")), Flushed::EverySecond);
        assert_eq!(Flushed::of(&facts("1"), Some("no")), Flushed::BySystem);
        assert_eq!(Flushed::of(&facts("1"), None), Flushed::Unsaid);
    }
}
