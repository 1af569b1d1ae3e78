//! The parts of a Redis store's URL: nodes, credentials, and the prefix of its keys.

use anyhow::Context as _;
use hapax_core::Secret;

const PREFIX: &str = "hapax";
const PORT: &str = "6379";

pub(super) struct RedisUrl {
    scheme: &'static str,
    is_cluster: bool,
    /// `user:password@`, or nothing.
    credentials: Secret,
    /// The first node.
    host: String,
    database: String,
    prefix: String,
}

impl RedisUrl {
    /// Parses a URL. The error does not repeat it, because it may contain a password.
    pub(super) fn of(url: &str) -> anyhow::Result<Self> {
        let (scheme, rest) = url.split_once("://").context("the store's URL has no `://`")?;
        let (scheme, is_cluster) = match scheme {
            "redis" => ("redis", false),
            "rediss" => ("rediss", false),
            "redis-cluster" => ("redis", true),
            "rediss-cluster" => ("rediss", true),
            _ => anyhow::bail!("this is not a Redis URL"),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (credentials, rest) = match rest.rfind('@') {
            Some(at) => rest.split_at(at + 1),
            None => ("", rest),
        };
        let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
        let host = hosts.split(',').next().unwrap_or_default();
        let prefix = form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == "prefix")
            .map_or_else(|| PREFIX.to_owned(), |(_, value)| value.into_owned());
        Ok(Self {
            scheme,
            is_cluster,
            credentials: Secret::new(credentials),
            host: with_port(host),
            database: database.to_owned(),
            prefix,
        })
    }

    pub(super) const fn is_cluster(&self) -> bool {
        self.is_cluster
    }

    /// The URL of the first node.
    pub(super) fn seed(&self) -> Secret {
        self.node(&self.host)
    }

    /// The URL of one node, as a client understands it.
    pub(super) fn node(&self, host: &str) -> Secret {
        let (scheme, credentials, database) = (self.scheme, self.credentials.expose(), &self.database);
        Secret::new(format!("{scheme}://{credentials}{host}/{database}"))
    }

    /// A pattern for the keys of this store: each begins with the tag of a shard, or with that of the whole store.
    pub(super) fn pattern(&self) -> String {
        let mut pattern = String::from("{");
        for character in self.prefix.chars() {
            if matches!(character, '*' | '?' | '[' | ']' | '^' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push_str("[:}]*");
        pattern
    }
}

/// The masters in the answer to `CLUSTER NODES` that hold slots and have not failed.
pub(super) fn masters(nodes: &str) -> Vec<String> {
    let master = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (address, flags) = (words.get(1)?, words.get(2)?);
        let is_working = flags.split(',').any(|flag| flag == "master")
            && !flags.split(',').any(|flag| flag == "fail" || flag == "noaddr");
        // The words after the eighth are its slots.
        let has_slots = words.len() > 8;
        let (address, _) = address.split_once('@').unwrap_or((address, ""));
        (is_working && has_slots).then(|| in_brackets(address))
    };
    nodes.lines().filter_map(master).collect()
}

/// An IPv6 address is bare in a list of nodes, but needs brackets in a URL.
fn in_brackets(address: &str) -> String {
    match address.rsplit_once(':') {
        Some((host, port)) if host.contains(':') && !host.starts_with('[') => format!("[{host}]:{port}"),
        Some(_) | None => address.to_owned(),
    }
}

fn with_port(host: &str) -> String {
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.ends_with(']'));
    if has_port {
        host.to_owned()
    } else {
        format!("{host}:{PORT}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        for (url, seed, is_cluster, pattern) in [
            ("redis://cache", "redis://cache:6379/", false, "{hapax[:}]*"),
            (
                "rediss://app:s@cache:7/3?shards=2&prefix=shop",
                "rediss://app:s@cache:7/3",
                false,
                "{shop[:}]*",
            ),
            (
                "redis-cluster://:p@q@a:1,b:2?prefix=a*%5D",
                "redis://:p@q@a:1/",
                true,
                "{a\\*\\][:}]*",
            ),
            ("redis://[::1]", "redis://[::1]:6379/", false, "{hapax[:}]*"),
        ] {
            let place = RedisUrl::of(url).unwrap();
            assert_eq!(place.seed().expose(), seed);
            assert_eq!(place.is_cluster(), is_cluster);
            assert_eq!(place.pattern(), pattern);
        }
    }

    #[test]
    fn another_url_is_refused_without_repeating_it() {
        for url in ["postgres://app:hunter2@db/app", "hunter2"] {
            let why = RedisUrl::of(url).err().unwrap();
            assert!(!format!("{why:#}").contains("hunter2"));
        }
    }

    #[test]
    fn masters_are_those_that_hold_slots_and_live() {
        let nodes = "\
07c3 127.0.0.1:30004@31004 slave e7d1 0 1426238317239 4 connected
67ed 127.0.0.1:30002@31002,host master - 0 1426238316232 2 connected 5461-10922
292f 127.0.0.1:30003@31003 master,fail - 0 1426238318243 3 disconnected 10923-16383
6ec2 ::1:30005@31005 myself,master - 0 0 5 connected 10923-16383
824f 127.0.0.1:30006@31006 master - 0 1426238317741 6 connected
";
        assert_eq!(masters(nodes), ["127.0.0.1:30002", "[::1]:30005"]);
    }
}
