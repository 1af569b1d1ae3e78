//! The health of an outbox: the errors of its relay, and the table's status, read every few seconds.

use std::time::Duration;

use parking_lot::Mutex;

use super::table::TableError;
use hapax_telemetry::outbox_health::{Counts, Health};

#[derive(Debug, Default)]
pub(super) struct Status(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    relaying: Option<Trouble>,
    purging: Option<Trouble>,
    looking: Option<Trouble>,
    counts: Option<Counts>,
}

/// Why the table cannot be used, and since when by the process's clock.
#[derive(Clone, Debug)]
struct Trouble {
    error: TableError,
    since: Duration,
}

impl Status {
    /// Records the outcome of a relay round; returns whether it is news.
    pub(super) fn relayed(&self, outcome: Result<(), &TableError>, now: Duration) -> bool {
        let mut known = self.lock();
        note(&mut known.relaying, outcome, now)
    }

    /// Records the outcome of a purge step; returns whether it is news.
    pub(super) fn purged(&self, outcome: Result<(), &TableError>, now: Duration) -> bool {
        let mut known = self.lock();
        note(&mut known.purging, outcome, now)
    }

    /// Records the table's status.
    pub(super) fn looked(&self, counted: Result<Counts, TableError>, now: Duration) {
        let mut known = self.lock();
        note(&mut known.looking, counted.as_ref().map(|_| ()), now);
        if let Ok(counts) = counted {
            known.counts = Some(counts);
        }
    }

    pub(super) fn health(&self, name: &str, now: Duration) -> Health {
        let known = self.lock();
        let troubles = [&known.relaying, &known.looking, &known.purging];
        let trouble = troubles.into_iter().flatten().next();
        Health {
            name: name.to_owned(),
            counts: known.counts.clone(),
            trouble: trouble.map(|trouble| (trouble.error.to_string(), now.saturating_sub(trouble.since))),
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Known> {
        self.0.lock()
    }
}

/// Records an outcome; returns whether anything changed. Trouble keeps its start time even if its reason changes.
fn note(known: &mut Option<Trouble>, outcome: Result<(), &TableError>, now: Duration) -> bool {
    let before = known.take();
    *known = outcome.err().map(|error| Trouble {
        error: error.clone(),
        since: before.as_ref().map_or(now, |trouble| trouble.since),
    });
    before.map(|trouble| trouble.error) != known.as_ref().map(|trouble| trouble.error.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn trouble_lasts_from_its_first_moment_until_it_works_again() {
        let status = Status::default();
        let (one, other) = (TableError("one".to_owned()), TableError("other".to_owned()));
        assert!(!status.relayed(Ok(()), SECOND));
        assert!(status.relayed(Err(&one), 2 * SECOND));
        assert!(!status.relayed(Err(&one), 3 * SECOND), "the same is no news");
        assert!(status.relayed(Err(&other), 4 * SECOND));
        let health = status.health("app", 7 * SECOND);
        assert_eq!(health.trouble, Some(("other".to_owned(), 5 * SECOND)));
        assert!(status.relayed(Ok(()), 8 * SECOND));
        assert_eq!(status.health("app", 8 * SECOND).trouble, None);
    }

    #[test]
    fn what_was_counted_last_stays_known_while_the_table_cannot_be_read() {
        let status = Status::default();
        let counts = Counts {
            refused: 3,
            ..Counts::default()
        };
        status.looked(Ok(counts.clone()), SECOND);
        status.looked(Err(TableError("gone".to_owned())), 2 * SECOND);
        let health = status.health("app", 3 * SECOND);
        assert_eq!(health.counts, Some(counts));
        assert_eq!(health.trouble, Some(("gone".to_owned(), SECOND)));
    }
}
