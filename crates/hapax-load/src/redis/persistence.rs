//! How safely a Redis writes: whether it has an append-only file, and when that reaches the disk.

use std::fmt;

use redis::aio::MultiplexedConnection;
use serde::Serialize;

use super::information::Information;

/// What a reader of figures needs to know about the servers.
#[derive(Clone, Debug, Serialize)]
pub struct Persistence {
    pub version: String,
    /// Servers that share the keys.
    pub masters: usize,
    /// When an event reaches the disk.
    pub flush: Flush,
}

/// When a write reaches the disk, from the least to the most safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// The server does not report it.
    Unknown,
    /// There is no append-only file.
    Never,
    /// When the operating system decides.
    BySystem,
    EverySecond,
    /// Before the answer.
    Always,
}

impl Persistence {
    pub(super) async fn of(server: &mut MultiplexedConnection, masters: usize) -> anyhow::Result<Self> {
        let information = Information::of(server).await?;
        // Some hosted services do not let users read settings; then it is reported as unknown.
        let setting = redis::cmd("CONFIG")
            .arg("GET")
            .arg("appendfsync")
            .query_async(server)
            .await;
        let setting: Option<(String, String)> = setting.ok();
        let fsync = setting.map(|(_, value)| value);
        Ok(Self {
            version: information.field("redis_version").unwrap_or("unknown").to_owned(),
            masters,
            flush: Flush::of(information.field("aof_enabled"), fsync.as_deref()),
        })
    }

    /// Why the figures mean less than they seem to, if so.
    pub fn problem(&self) -> Option<String> {
        let why = match self.flush {
            Flush::EverySecond | Flush::Always => return None,
            Flush::Unknown => "does not report whether it keeps an append-only file",
            Flush::Never => "keeps no append-only file, so a crash loses every event",
            Flush::BySystem => "lets the system decide when its append-only file is flushed",
        };
        Some(format!(
            "Redis {why}: these figures are not those of a durable store; set `appendonly yes` and `appendfsync \
             everysec`, or use bench/with-redis"
        ))
    }
}

impl Flush {
    fn of(is_enabled: Option<&str>, fsync: Option<&str>) -> Self {
        match (is_enabled, fsync) {
            (Some("0"), _) => Self::Never,
            (Some(_), Some("always")) => Self::Always,
            (Some(_), Some("everysec")) => Self::EverySecond,
            (Some(_), Some("no")) => Self::BySystem,
            (Some(_) | None, _) => Self::Unknown,
        }
    }
}

impl fmt::Display for Persistence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flush = match self.flush {
            Flush::Unknown => "unknown",
            Flush::Never => "none",
            Flush::BySystem => "appendfsync no",
            Flush::EverySecond => "appendfsync everysec",
            Flush::Always => "appendfsync always",
        };
        write!(formatter, "Redis {}, append-only file: {flush}", self.version)?;
        match self.masters {
            1 => Ok(()),
            masters => write!(formatter, ", {masters} masters"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_is_flushed_at_least_every_second_is_not_warned_of() {
        for (is_enabled, fsync, is_safe) in [
            (Some("1"), Some("everysec"), true),
            (Some("1"), Some("always"), true),
            (Some("1"), Some("no"), false),
            (Some("0"), Some("always"), false),
            (Some("1"), None, false),
            (None, None, false),
        ] {
            let persistence = Persistence {
                version: "7.0.15".to_owned(),
                masters: 1,
                flush: Flush::of(is_enabled, fsync),
            };
            assert_eq!(persistence.problem().is_none(), is_safe, "{persistence}");
        }
    }
}
