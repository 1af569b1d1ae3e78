//! A server's report about itself (`INFO`).

use anyhow::Context as _;
use redis::aio::MultiplexedConnection;

/// The `INFO` fields for background work; each is 0 when there is none.
const BACKGROUND: [&str; 3] = [
    "lazyfree_pending_objects",
    "aof_rewrite_in_progress",
    "rdb_bgsave_in_progress",
];

/// The answer of one server at one moment.
pub(super) struct Information(String);

impl Information {
    pub(super) async fn of(server: &mut MultiplexedConnection) -> anyhow::Result<Self> {
        let text = redis::cmd("INFO").query_async(server).await;
        text.map(Self).context("the server does not report its state")
    }

    /// A field as written.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            (found == name).then(|| value.trim())
        })
    }

    pub(super) fn number(&self, name: &str) -> anyhow::Result<u64> {
        let text = self
            .field(name)
            .with_context(|| format!("the server does not report `{name}`"))?;
        text.parse().with_context(|| format!("`{name}` is not a number"))
    }

    /// Whether the server is freeing memory or writing in the background.
    pub(super) fn is_busy(&self) -> bool {
        let is_under_way = |name| self.field(name).is_some_and(|count| count != "0");
        BACKGROUND.into_iter().any(is_under_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let information = Information("# Memory\r\nused_memory_rss:9\r\nused_memory:7\r\n".to_owned());
        assert_eq!(information.number("used_memory").unwrap(), 7);
        assert!(information.number("used").is_err());
        assert!(!information.is_busy());
    }

    #[test]
    fn a_server_that_frees_keys_is_busy() {
        let information =
            Information("lazyfree_pending_objects:3\r\naof_rewrite_in_progress:0\r\n".to_owned());
        assert!(information.is_busy());
    }
}
