//! The address of a store, parsed from its URL.

use std::fmt;
use std::num::NonZeroU8;

use hapax_core::percent;

use crate::shards::SHARDS_MAX;

/// Shards of a new store on one server: more would only split batches.
const SHARDS_ON_ONE: NonZeroU8 = NonZeroU8::MIN;
/// Shards of a new store on a cluster: enough to grow to as many masters.
const SHARDS_ON_A_CLUSTER: u8 = 16;
const PORT: u16 = 6_379;
const PREFIX: &str = "hapax";
/// The maximum length of a prefix, which is a part of every key.
const PREFIX_BYTES_MAX: usize = 64;

/// A store's address.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoreAddress {
    pub(crate) kind: Kind,
    pub(crate) encrypted: Encrypted,
    /// One server, or some of a cluster's.
    pub(crate) nodes: Vec<Node>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: i64,
    pub(crate) prefix: String,
    /// The URL's number of shards; an existing store has its own.
    pub(crate) shards: Option<u8>,
}

/// One server or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Single,
    Cluster,
}

/// Whether connections use TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encrypted {
    No,
    Yes,
}

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Why a string is not a valid address. The string itself is not printed: it may contain a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The scheme is unknown.
    #[error(
        "write \"redis://host:6379/0\" for one server or \"redis-cluster://host:6379,host:6379\" for a cluster"
    )]
    Scheme,
    /// There is nothing before the path.
    #[error("the host is missing: write \"redis://host:6379\"")]
    HostMissing,
    /// The part after the colon is not a port number.
    #[error("the port of {0} is not a number from 1 to 65535")]
    Port(String),
    /// There are several hosts, but the scheme is not for a cluster.
    #[error("one server has one address; for a cluster write \"redis-cluster://\" before its addresses")]
    SeveralHosts,
    /// The path is not a number.
    #[error("the database after the `/` must be a number, for example \"redis://host:6379/0\"")]
    Database,
    /// A cluster has only one database.
    #[error("a cluster has only database 0: omit the path, and distinguish stores with `?prefix=`")]
    DatabaseOfACluster,
    /// The parameter after the `?` is unknown.
    #[error("`{0}` is not a parameter of the URL: use `prefix` or `shards`")]
    Option(String),
    /// The prefix cannot be used in keys.
    #[error("the prefix must be 1 to 64 letters, digits, `-`, `_` or `.`")]
    Prefix,
    /// Identities cannot be divided among this number of shards.
    #[error("the number of shards must be 1, 2, 4, 8, 16, 32 or 64")]
    Shards,
    /// A percent escape is not valid.
    #[error("the user or password contains a `%` that does not begin an escape: write it as `%25`")]
    Escape,
}

/// Checks that a string is the URL of a store on Redis.
///
/// # Errors
/// It is not; the error says why.
pub fn check(url: &str) -> Result<(), UrlError> {
    StoreAddress::parse(url).map(drop)
}

impl StoreAddress {
    pub(crate) fn parse(url: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = url.split_once("://").ok_or(UrlError::Scheme)?;
        let (kind, encrypted) = match scheme {
            "redis" => (Kind::Single, Encrypted::No),
            "rediss" => (Kind::Single, Encrypted::Yes),
            "redis-cluster" => (Kind::Cluster, Encrypted::No),
            "rediss-cluster" => (Kind::Cluster, Encrypted::Yes),
            _ => return Err(UrlError::Scheme),
        };
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        // A password may contain an unescaped `@`: the last one counts.
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(login), rest),
            None => (None, rest),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut place = Self {
            kind,
            encrypted,
            nodes: nodes(hosts, kind)?,
            user: None,
            password: None,
            database: database(path, kind)?,
            prefix: PREFIX.to_owned(),
            shards: None,
        };
        place.log_in(login)?;
        place.options(options)?;
        Ok(place)
    }

    /// The number of shards of a new store.
    pub(crate) fn shards_of_a_new_store(&self) -> u8 {
        self.shards.unwrap_or(match self.kind {
            Kind::Single => SHARDS_ON_ONE.get(),
            Kind::Cluster => SHARDS_ON_A_CLUSTER,
        })
    }

    fn log_in(&mut self, login: Option<&str>) -> Result<(), UrlError> {
        let Some(login) = login else {
            return Ok(());
        };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let filled = |text: String| (!text.is_empty()).then_some(text);
        let decode = |text| percent::decode(text).map_err(|_| UrlError::Escape);
        self.user = filled(decode(user)?);
        self.password = filled(decode(password)?);
        Ok(())
    }

    fn options(&mut self, options: &str) -> Result<(), UrlError> {
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("prefix", prefix)) if is_prefix(prefix) => prefix.clone_into(&mut self.prefix),
                Some(("prefix", _)) => return Err(UrlError::Prefix),
                Some(("shards", count)) => self.shards = Some(shards(count)?),
                Some((name, _)) => return Err(UrlError::Option(name.to_owned())),
                None => return Err(UrlError::Option(option.to_owned())),
            }
        }
        Ok(())
    }
}

/// Without user and password.
impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<String> = self.nodes.iter().map(Node::to_string).collect();
        f.write_str(&nodes.join(","))
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Node {
    /// `host`, `host:port` or `[::1]:port`.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlError> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let port = port.parse().ok().filter(|port| *port != 0);
                (host, port.ok_or_else(|| UrlError::Port(host.to_owned()))?)
            }
            Some(_) | None => (text, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(UrlError::HostMissing);
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

fn nodes(hosts: &str, kind: Kind) -> Result<Vec<Node>, UrlError> {
    let nodes: Vec<Node> = hosts.split(',').map(Node::parse).collect::<Result<_, _>>()?;
    match kind {
        Kind::Single if nodes.len() > 1 => Err(UrlError::SeveralHosts),
        Kind::Single | Kind::Cluster => Ok(nodes),
    }
}

fn database(path: &str, kind: Kind) -> Result<i64, UrlError> {
    match (path, kind) {
        ("", _) | ("0", Kind::Cluster) => Ok(0),
        (_, Kind::Cluster) => Err(UrlError::DatabaseOfACluster),
        (path, Kind::Single) => path
            .parse()
            .ok()
            .filter(|number| *number >= 0)
            .ok_or(UrlError::Database),
    }
}

fn is_prefix(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=PREFIX_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

fn shards(text: &str) -> Result<u8, UrlError> {
    let count: Option<u8> = text.parse().ok();
    count
        .filter(|count| count.is_power_of_two() && *count <= SHARDS_MAX)
        .ok_or(UrlError::Shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_an_address_a_login_a_database_and_options() {
        let place = StoreAddress::parse("redis://app:p%40ss@cache:6380/2?prefix=shop&shards=4").unwrap();
        assert_eq!(place.to_string(), "cache:6380");
        assert_eq!(place.user.as_deref(), Some("app"));
        assert_eq!(place.password.as_deref(), Some("p@ss"));
        assert_eq!((place.database, place.shards), (2, Some(4)));
        assert_eq!((place.prefix.as_str(), place.kind), ("shop", Kind::Single));
        assert!(!format!("{place:?}").contains("p@ss"));
    }

    #[test]
    fn a_cluster_has_several_addresses_and_more_shards() {
        let place = StoreAddress::parse("rediss-cluster://:secret@a:1,b:2,[::1]:3").unwrap();
        assert_eq!(place.to_string(), "a:1,b:2,::1:3");
        assert_eq!((place.kind, place.encrypted), (Kind::Cluster, Encrypted::Yes));
        assert_eq!(place.shards_of_a_new_store(), 16);
        let place = StoreAddress::parse("redis://localhost").unwrap();
        assert_eq!((place.shards_of_a_new_store(), place.nodes[0].port), (1, 6_379));
    }

    #[test]
    fn what_is_no_place_is_refused_with_the_reason() {
        for (url, error) in [
            ("http://a", UrlError::Scheme),
            ("redis://", UrlError::HostMissing),
            ("redis://a:x", UrlError::Port("a".to_owned())),
            ("redis://a:1,b:2", UrlError::SeveralHosts),
            ("redis://a/x", UrlError::Database),
            ("redis-cluster://a:1/2", UrlError::DatabaseOfACluster),
            ("redis://a?wait=1", UrlError::Option("wait".to_owned())),
            ("redis://a?prefix=a{b", UrlError::Prefix),
            ("redis://a?shards=3", UrlError::Shards),
            ("redis://a%:b@c", UrlError::Escape),
        ] {
            assert_eq!(StoreAddress::parse(url), Err(error), "{url}");
        }
    }
}
