//! The parameters of a benchmark run.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use hapax_config::StoreUrl;

/// The loads: few connections to measure latency, and many to measure throughput.
pub(crate) const CONNECTIONS: [usize; 2] = [64, 256];
/// A signature is valid for five minutes, and it is made before the run.
pub const SECONDS_MAX: u64 = 240;
/// Duplicates and conflicts are spread over this many ids.
pub(crate) const DUPLICATE_IDS: usize = 100_000;
/// Deliveries to prepare for each second of a run with new events: more than any store here accepts.
pub(crate) const NEW_PER_SECOND_MAX: usize = 80_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Sqlite,
    Postgres,
    /// A server in memory, or a cluster of them.
    Redis,
}

#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Number of times to repeat each measurement.
    pub rounds: usize,
    /// Duration of each measurement.
    pub seconds: u64,
    /// Events in the run to the sink.
    pub delivered_events: usize,
    /// Entries in the large ledger; 0 skips it.
    pub preload: u64,
    /// Duration of each run on the large and the empty ledger; there are two of each.
    pub ledger_seconds: u64,
    /// Deliveries in the long backlog; 0 skips it.
    pub backlog: u64,
    /// Events in the run that sends one at a time.
    pub lone_events: u32,
    /// How many of them are sent per second.
    pub lone_per_second: u32,
    /// Numbers of ledger entries for which to measure memory; only for a store in memory.
    pub remembered: Vec<u64>,
    /// A store to use, emptied for each round; with `None`, a new SQLite file for each.
    #[serde(serialize_with = "without_password")]
    pub store: Option<String>,
    /// The folder for the files.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Plan {
    /// The published run, about seventeen minutes with its five million entries.
    pub fn full(folder: PathBuf) -> Self {
        Self {
            rounds: 5,
            seconds: 8,
            delivered_events: 100_000,
            preload: 5_000_000,
            ledger_seconds: 60,
            backlog: 1_000_000,
            // Enough that the 99th percentile is not the slowest, and within the life of a signature.
            lone_events: 200,
            lone_per_second: 1,
            // Two sizes, because the structure that holds the entries has another form when it is small.
            remembered: vec![200_000, 1_000_000],
            store: None,
            folder,
        }
    }

    /// A first impression in about a minute.
    pub fn quick(folder: PathBuf) -> Self {
        Self {
            rounds: 3,
            seconds: 2,
            delivered_events: 20_000,
            preload: 0,
            ledger_seconds: 15,
            backlog: 0,
            // Still alone: the next is sent long after the last was answered.
            lone_events: 100,
            lone_per_second: 10,
            remembered: vec![200_000],
            ..Self::full(folder)
        }
    }

    /// The store to measure: each kind has its own targets.
    pub fn kind(&self) -> StoreKind {
        match &self.store {
            Some(url) if url.starts_with("postgres") => StoreKind::Postgres,
            Some(url) if url.starts_with("redis") => StoreKind::Redis,
            Some(_) | None => StoreKind::Sqlite,
        }
    }

    /// Measurements in all rounds.
    pub fn steps(&self) -> u64 {
        (self.rounds * (CONNECTIONS.len() * 4 + 3)) as u64
    }
}

/// A report is made to be shared, and a URL may contain a password.
#[expect(clippy::ref_option, reason = "serde passes a field in this form")]
fn without_password<S: Serializer>(store: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let url = store.as_ref().and_then(|url| url.parse::<StoreUrl>().ok());
    url.map(|url| url.to_string()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_events_are_sent_while_their_signatures_are_valid() {
        for plan in [Plan::full(PathBuf::new()), Plan::quick(PathBuf::new())] {
            let seconds = u64::from(plan.lone_events / plan.lone_per_second);
            assert!((1..SECONDS_MAX).contains(&seconds), "{seconds}");
        }
    }

    #[test]
    fn a_report_does_not_show_the_password_of_its_store() {
        let plan = Plan {
            store: Some("postgres://app:hunter2@db/bench".to_owned()),
            ..Plan::quick(PathBuf::new())
        };
        let shown = serde_json::to_value(&plan).unwrap();
        assert_eq!(shown["store"], "postgres://db/bench");
        assert!(!shown.to_string().contains("hunter2"));
    }
}
