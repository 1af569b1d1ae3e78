//! A server's report about itself: its version, its kind, and what it would lose.

use std::collections::BTreeMap;
use std::fmt;

use crate::Options;
use crate::failure::Failure;
use crate::link::Link;
use crate::reply;
use crate::url::{Kind, Node, StoreAddress, UrlError};

use super::{OpenError, refused};

/// The oldest version with every command that scripts use.
const OLDEST: (u64, u64) = (6, 2);

/// Something that a crash or a failover would cost, given a server's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// There is no append-only file.
    NoAppendOnlyFile { node: String },
    /// The server does not flush the append-only file.
    NeverFlushed { node: String },
    /// A source waits for more replicas than there are.
    FewReplicas {
        node: String,
        /// The number of replicas it has.
        has: u64,
        /// The number of replicas that a source waits for.
        wait: u8,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAppendOnlyFile { node } => write!(
                f,
                "Redis at {node} keeps no append-only file: a crash loses every event since the last snapshot, or all \
                 data; set `appendonly yes`"
            ),
            Self::NeverFlushed { node } => write!(
                f,
                "Redis at {node} has `appendfsync no`: when its machine crashes, about half a minute of acknowledged \
                 events is lost; set `appendfsync everysec` (a second) or `always` (nothing)"
            ),
            Self::FewReplicas { node, has, wait } => write!(
                f,
                "Redis at {node} has {has} replicas and a source waits for {wait}: its events are answered 503 until it \
                 has as many"
            ),
        }
    }
}

/// Checks that the server is what the URL says. Returns the server that answered.
pub(super) async fn check_kind<'p>(place: &'p StoreAddress, link: &Link) -> Result<&'p Node, OpenError> {
    // Any of them may be down: one answer is enough.
    let mut last = None;
    for node in &place.nodes {
        match info(link, node).await {
            Ok(facts) => {
                let is_cluster = facts.get("cluster_enabled").map(String::as_str) == Some("1");
                return match (place.kind, is_cluster) {
                    (Kind::Single, true) => Err(OpenError::IsACluster(node.to_string())),
                    (Kind::Cluster, false) => Err(OpenError::IsNoCluster(node.to_string())),
                    (Kind::Single, false) | (Kind::Cluster, true) => Ok(node),
                };
            }
            Err(failure) => last = Some(failure),
        }
    }
    Err(match last {
        Some(failure) => refused(place, &failure),
        None => UrlError::HostMissing.into(),
    })
}

/// Checks every server that has a shard.
pub(super) async fn check(
    place: &StoreAddress,
    link: &Link,
    options: &Options,
) -> Result<Vec<Warning>, OpenError> {
    let failed = |failure| refused(place, &failure);
    let mut warnings = Vec::new();
    for node in link.masters().await.map_err(failed)? {
        let facts = info(link, &node).await.map_err(failed)?;
        refuse(&node, &facts)?;
        let flushed = setting(link, &node, "appendfsync").await;
        let wait = options.wait.values().copied().max().unwrap_or(0);
        warnings.extend(warn(&node, &facts, flushed.as_deref(), wait));
    }
    Ok(warnings)
}

fn refuse(node: &Node, facts: &BTreeMap<String, String>) -> Result<(), OpenError> {
    let found = facts.get("redis_version").map_or("", String::as_str);
    if version(found).is_some_and(|version| version < OLDEST) {
        return Err(OpenError::TooOld {
            node: node.to_string(),
            found: found.to_owned(),
        });
    }
    match facts.get("maxmemory_policy").map(String::as_str) {
        Some(policy) if policy != "noeviction" => Err(OpenError::Evicts {
            node: node.to_string(),
            policy: policy.to_owned(),
        }),
        Some(_) | None => Ok(()),
    }
}

fn warn(node: &Node, facts: &BTreeMap<String, String>, flushed: Option<&str>, wait: u8) -> Vec<Warning> {
    let node = node.to_string();
    let mut warnings = Vec::new();
    if facts.get("aof_enabled").map(String::as_str) == Some("0") {
        warnings.push(Warning::NoAppendOnlyFile { node: node.clone() });
    } else if flushed == Some("no") {
        warnings.push(Warning::NeverFlushed { node: node.clone() });
    }
    let has = facts.get("connected_slaves").and_then(|count| count.parse().ok());
    if let Some(has) = has.filter(|has| *has < u64::from(wait)) {
        warnings.push(Warning::FewReplicas { node, has, wait });
    }
    warnings
}

fn version(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// The fields of `INFO`, by name.
pub(crate) async fn info(link: &Link, node: &Node) -> Result<BTreeMap<String, String>, Failure> {
    let answer = link.ask(node, &redis::cmd("INFO")).await?;
    let text = match answer {
        redis::Value::VerbatimString { text, .. } => text,
        other => reply::text(other)?,
    };
    let facts = text.lines().filter_map(|line| line.trim_end().split_once(':'));
    Ok(facts
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// A setting, if the server allows the question: managed services often do not.
pub(crate) async fn setting(link: &Link, node: &Node, name: &str) -> Option<String> {
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg(name);
    let answer = link.ask(node, &command).await.ok()?;
    let pairs = reply::pairs(answer).ok()?;
    pairs
        .into_iter()
        .next()
        .and_then(|(_, value)| String::from_utf8(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn node() -> Node {
        Node::parse("cache:6379").unwrap()
    }

    #[test]
    fn a_server_that_evicts_or_is_too_old_is_refused() {
        let evicts = facts(&[("redis_version", "7.0.15"), ("maxmemory_policy", "allkeys-lru")]);
        assert!(matches!(refuse(&node(), &evicts), Err(OpenError::Evicts { .. })));
        let old = facts(&[("redis_version", "6.0.16"), ("maxmemory_policy", "noeviction")]);
        assert!(matches!(refuse(&node(), &old), Err(OpenError::TooOld { .. })));
        let fine = facts(&[("redis_version", "7.0.15"), ("maxmemory_policy", "noeviction")]);
        assert!(refuse(&node(), &fine).is_ok());
    }

    #[test]
    fn what_a_crash_would_cost_is_said() {
        let none = facts(&[("aof_enabled", "0"), ("connected_slaves", "0")]);
        assert_eq!(warn(&node(), &none, None, 1).len(), 2);
        let never = facts(&[("aof_enabled", "1"), ("connected_slaves", "1")]);
        let warnings = warn(&node(), &never, Some("no"), 1);
        assert!(matches!(warnings[..], [Warning::NeverFlushed { .. }]));
        assert_eq!(warn(&node(), &never, Some("everysec"), 1), []);
    }
}
