//! The address of the store: `sqlite:hapax.db`, `postgres://…`, `redis://…` or `redis-cluster://…`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use hapax_core::Secret;

use super::setting::{Facts, Setting};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// An SQLite file. A relative path starts at the working directory.
    Sqlite(PathBuf),
    /// A PostgreSQL database. The URL may contain a password.
    Postgres(Secret),
    /// A Redis server or a Redis Cluster. The URL may contain a password.
    Redis(Secret),
}

/// Why a string is not a store URL. The string itself is not printed, because it may contain a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    /// The URL names no known backend.
    #[error(
        "this is not a store: write \"sqlite:\" and a path, such as \"sqlite:hapax.db\", \"postgres://user@host/database\", \
         \"redis://host:6379\" or \"redis-cluster://host:6379,host:6379\""
    )]
    Unknown,
    #[error("the path is missing: write it after \"sqlite:\", such as \"sqlite:hapax.db\"")]
    PathMissing,
    /// A store that loses everything when the process ends.
    #[error("an in-memory store loses acknowledged events; give a path, such as \"sqlite:hapax.db\"")]
    InMemory,
    /// Options after the path.
    #[error(
        "options after the path (`?`) are not supported; give only the path, such as \"sqlite:hapax.db\""
    )]
    Options,
    /// A database URL without a host.
    #[error("the host is missing: write \"postgres://user:password@host:5432/database\"")]
    HostMissing,
    /// The Redis URL cannot be used.
    #[error(transparent)]
    Redis(#[from] hapax_store_redis::UrlError),
}

impl StoreUrl {
    pub fn is_redis_cluster(&self) -> bool {
        match self {
            Self::Redis(url) => scheme(url.expose()).ends_with("-cluster"),
            Self::Sqlite(_) | Self::Postgres(_) => false,
        }
    }

    /// The whole URL, including the password, for a process that runs in another folder.
    pub fn absolute(&self) -> std::io::Result<String> {
        match self {
            Self::Sqlite(path) => Ok(format!("sqlite:{}", std::path::absolute(path)?.display())),
            Self::Postgres(url) | Self::Redis(url) => Ok(url.expose().to_owned()),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scheme, rest) = text.split_once(':').ok_or(StoreUrlError::Unknown)?;
        match scheme {
            "sqlite" => sqlite(rest),
            "postgres" | "postgresql" => postgres(text, rest),
            "redis" | "rediss" | "redis-cluster" | "rediss-cluster" => redis(text),
            _ => Err(StoreUrlError::Unknown),
        }
    }
}

impl Setting for StoreUrl {
    const TYPE: &'static str = "URL";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        text.parse().map_err(|error: StoreUrlError| error.to_string())
    }

    fn to_toml(&self) -> toml::Value {
        self.to_string().into()
    }
}

/// Omits the password.
impl fmt::Display for StoreUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            Self::Postgres(url) => write!(formatter, "postgres://{}", place(url.expose())),
            Self::Redis(url) => {
                let url = url.expose();
                write!(formatter, "{}://{}", scheme(url), place(url))?;
                // The prefix distinguishes stores on the same server.
                prefix(url).map_or(Ok(()), |prefix| write!(formatter, "?prefix={prefix}"))
            }
        }
    }
}

/// `sqlite:path` and `sqlite://path` mean the same; `sqlite:///path` is absolute.
fn sqlite(rest: &str) -> Result<StoreUrl, StoreUrlError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() {
        return Err(StoreUrlError::PathMissing);
    }
    if path.starts_with(":memory:") {
        return Err(StoreUrlError::InMemory);
    }
    if path.contains('?') {
        return Err(StoreUrlError::Options);
    }
    Ok(StoreUrl::Sqlite(PathBuf::from(path)))
}

fn postgres(text: &str, rest: &str) -> Result<StoreUrl, StoreUrlError> {
    match rest.strip_prefix("//") {
        Some(rest) if !rest.is_empty() => Ok(StoreUrl::Postgres(Secret::new(text))),
        Some(_) | None => Err(StoreUrlError::HostMissing),
    }
}

fn redis(text: &str) -> Result<StoreUrl, StoreUrlError> {
    hapax_store_redis::check_url(text)?;
    Ok(StoreUrl::Redis(Secret::new(text)))
}

fn scheme(url: &str) -> &str {
    url.split_once("://").map_or("", |(scheme, _)| scheme)
}

/// The prefix of the store's keys in a URL.
fn prefix(url: &str) -> Option<&str> {
    let (_, options) = url.split_once('?')?;
    options
        .split('&')
        .find_map(|option| option.strip_prefix("prefix="))
}

/// The host, port and database of a URL, which may be printed.
fn place(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split_once('?').map_or(rest, |(place, _)| place);
    // A password may contain an unescaped `@`, so the last one counts.
    rest.rsplit_once('@').map_or(rest, |(_, place)| place)
}

#[cfg(test)]
mod tests {
    use hapax_store_redis::UrlError;

    use super::*;

    #[test]
    fn sqlite_urls_are_paths() {
        for (text, path) in [
            ("sqlite:hapax.db", "hapax.db"),
            ("sqlite://hapax.db", "hapax.db"),
            ("sqlite:/var/lib/hapax.db", "/var/lib/hapax.db"),
            ("sqlite:///var/lib/hapax.db", "/var/lib/hapax.db"),
        ] {
            assert_eq!(text.parse(), Ok(StoreUrl::Sqlite(PathBuf::from(path))), "{text}");
        }
    }

    #[test]
    fn a_database_is_shown_without_its_password() {
        for text in [
            "postgres://app:hunter2@db:5432/app?sslmode=require",
            "postgresql://app:hunter2@hunter2@db:5432/app",
            "postgres://db:5432/app?password=hunter2",
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), "postgres://db:5432/app");
            assert!(!format!("{url:?}").contains("hunter2"));
        }
    }

    #[test]
    fn a_redis_is_shown_with_its_prefix_and_without_its_password() {
        for (text, shown, is_cluster) in [
            ("redis://app:hunter2@cache:6380/2", "redis://cache:6380/2", false),
            (
                "rediss://:hunter2@cache?shards=4&prefix=shop",
                "rediss://cache?prefix=shop",
                false,
            ),
            (
                "redis-cluster://:hunter2@a:1,b:2?shards=8",
                "redis-cluster://a:1,b:2",
                true,
            ),
            ("rediss-cluster://:hunter2@a:1", "rediss-cluster://a:1", true),
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.is_redis_cluster(), is_cluster, "{text}");
            assert!(!format!("{url:?}").contains("hunter2"));
        }
    }

    #[test]
    fn what_is_no_store_is_refused_without_printing_its_password() {
        for (text, error) in [
            ("postgres:hunter2", StoreUrlError::HostMissing),
            ("postgres://", StoreUrlError::HostMissing),
            ("redis://:hunter2@", StoreUrlError::Redis(UrlError::HostMissing)),
            (
                "redis://:hunter2@a:1,b:2",
                StoreUrlError::Redis(UrlError::SeveralHosts),
            ),
            (
                "redis-cluster://:hunter2@a:1?shards=3",
                StoreUrlError::Redis(UrlError::Shards),
            ),
            ("mysql://root:hunter2@db", StoreUrlError::Unknown),
            ("hapax.db", StoreUrlError::Unknown),
            ("sqlite:", StoreUrlError::PathMissing),
            ("sqlite::memory:", StoreUrlError::InMemory),
            ("sqlite:a.db?mode=ro", StoreUrlError::Options),
        ] {
            let found = text.parse::<StoreUrl>().unwrap_err();
            assert!(!found.to_string().contains("hunter2"));
            assert_eq!(found, error, "{text}");
        }
    }
}
