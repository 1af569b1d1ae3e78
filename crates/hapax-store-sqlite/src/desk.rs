//! The writer's desk: the connection with its hot statements prepared, and the writer's in-memory state. Every step
//! that writes is a function of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{Alive, JobHold, ReplayJobId};
use hapax_core::{Clock, EventId, Owner, Timestamp, Token};
use rusqlite::{Connection, OptionalExtension};

use crate::Options;
use crate::failure::{Failure, Reach};
use crate::hot::Hot;
use crate::names::Names;
use crate::purge_progress::Progress;
use crate::recent::Recent;
use crate::tallies::Tallies;
use crate::tokens::Tokens;

/// Neighbouring rows tried when two ids have the same order.
pub(crate) const PROBES: i64 = 64;

/// In-memory state that outlives a transaction, and a connection.
pub(crate) struct State {
    pub(crate) clock: Arc<dyn Clock>,
    /// Both clocks when the store was opened.
    opened: (Timestamp, Duration),
    pub(crate) names: Names,
    pub(crate) tokens: Tokens,
    pub(crate) tallies: Tallies,
    /// Keys of the newest ledger entries.
    pub(crate) recent: Recent,
    /// Paused destinations; `None` until they are read.
    pub(crate) paused: Option<HashSet<i64>>,
    pub(crate) purge: Progress,
    /// Which driver holds which replay job. Not stored: there is one process, and its claims end with it.
    pub(crate) drivers: HashMap<ReplayJobId, JobHold>,
    /// Owners that reported themselves alive. Not stored: a process that opens the store takes back every lease.
    pub(crate) owners: HashMap<Owner, Alive>,
    /// How far the times in ids are from their events' arrivals; `None` until it is read.
    pub(crate) skew_ms: Option<u64>,
    /// The time last stored for the next process; `None` if it is not known to be stored.
    pub(crate) moment_kept: Option<Timestamp>,
    pub(crate) replay_keep: Duration,
}

impl State {
    pub(crate) fn load(connection: &Connection, options: &Options) -> rusqlite::Result<Self> {
        Ok(Self {
            clock: Arc::clone(&options.clock),
            opened: (options.clock.now(), options.clock.elapsed()),
            names: Names::default(),
            tokens: Tokens::load(connection)?,
            tallies: Tallies::default(),
            recent: Recent::load(connection, Arc::default(), options.recent_keys_max)?,
            paused: None,
            purge: Progress::default(),
            drivers: HashMap::new(),
            owners: HashMap::new(),
            skew_ms: None,
            moment_kept: None,
            replay_keep: options.replay_keep,
        })
    }

    /// Drops state that may no longer match the file after a rollback of any size.
    pub(crate) fn rolled_back(&mut self) {
        self.names.clear();
        self.tokens.rolled_back();
        self.tallies.clear();
        self.paused = None;
        self.skew_ms = None;
        self.moment_kept = None;
        self.purge = Progress::default();
    }
}

/// How a transaction treats an item that fails on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// The transaction is rolled back and run again in `Careful` mode: the ordinary case costs nothing.
    Swift,
    /// Every item has its own savepoint, so that only the failing one is undone.
    Careful,
}

/// One connection with its prepared statements and state.
pub(crate) struct Desk<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) hot: Hot<'c>,
    pub(crate) state: &'c mut State,
    pub(crate) care: Care,
}

impl Desk<'_> {
    /// The wall clock, for timestamps.
    pub(crate) fn now(&self) -> Timestamp {
        self.state.clock.now()
    }

    /// The time that decides when deliveries are due and leases end. It advances with the monotonic clock, so that
    /// setting the wall clock neither delays queued deliveries nor ends leases.
    pub(crate) fn moment(&self) -> Timestamp {
        let (wall, elapsed) = self.state.opened;
        wall.plus(self.state.clock.elapsed().saturating_sub(elapsed))
    }

    pub(crate) fn token(&mut self) -> Result<Token, Failure> {
        Ok(Token(self.number()? as u64))
    }

    /// The next number of the sequence that tokens are drawn from.
    pub(crate) fn number(&mut self) -> Result<i64, Failure> {
        self.state.tokens.take(self.connection)
    }

    /// How far the times in ids may be from their events' arrivals.
    pub(crate) fn skew_ms(&mut self) -> Result<u64, Failure> {
        if let Some(skew_ms) = self.state.skew_ms {
            return Ok(skew_ms);
        }
        let skew_ms = read_skew_ms(self.connection)?;
        self.state.skew_ms = Some(skew_ms);
        Ok(skew_ms)
    }

    /// The number of a name, which is stored if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> Result<i64, Failure> {
        self.state.names.intern(self.connection, text)
    }

    /// The number of a name, if it is stored.
    pub(crate) fn find_name(&mut self, text: &str) -> Result<Option<i64>, Failure> {
        self.state.names.find(self.connection, text)
    }

    /// Runs one item. A failure that concerns only this item leaves its neighbours unaffected.
    pub(crate) fn item<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<Result<T, Failure>, Failure> {
        match self.care {
            Care::Swift => run(self).map(Ok),
            Care::Careful => {
                let tallies = self.state.tallies.clone();
                let recent = self.state.recent.savepoint();
                self.connection.execute_batch("SAVEPOINT item")?;
                let outcome = run(self);
                match outcome {
                    Ok(answer) => {
                        self.connection.execute_batch("RELEASE item")?;
                        Ok(Ok(answer))
                    }
                    Err(failure) if failure.reach() == Reach::Item => {
                        self.connection.execute_batch("ROLLBACK TO item; RELEASE item")?;
                        self.state.rolled_back();
                        self.state.tallies = tallies;
                        self.state.recent.undo_to(recent);
                        Ok(Err(failure))
                    }
                    Err(failure) => Err(failure),
                }
            }
        }
    }
}

/// The row of an event: where its id's order puts it, or next to it after a collision.
pub(crate) fn find_event(connection: &Connection, id: EventId) -> Result<Option<i64>, Failure> {
    let order = id.order() as i64;
    let mut select = connection.prepare_cached(
        "SELECT seq FROM events WHERE seq >= ?1 AND seq < ?2 AND id = ?3 ORDER BY seq LIMIT 1",
    )?;
    Ok(select
        .query_row((order, order.saturating_add(PROBES), id.as_bytes()), |row| {
            row.get(0)
        })
        .optional()?)
}

/// How far the times in ids may be from their events' arrivals, as stored.
pub(crate) fn read_skew_ms(connection: &Connection) -> Result<u64, Failure> {
    let skew_ms: i64 = connection
        .prepare_cached("SELECT value FROM meta WHERE key = 'skew_ms'")?
        .query_row([], |row| row.get(0))?;
    Ok(u64::try_from(skew_ms).unwrap_or(u64::MAX))
}
