//! The writer's desk: the connection with its hot statements prepared, and what the writer
//! remembers. Every step that writes is a function of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{Alive, JobHold, ReplayJobId};
use hapax_core::{Clock, EventId, Owner, Timestamp, Token};
use rusqlite::{Connection, OptionalExtension, Statement};

use crate::Options;
use crate::failure::{Failure, Reach};
use crate::names::Names;
use crate::purge::Progress;
use crate::tallies::Tallies;
use crate::tokens::Tokens;

/// Neighbouring rows tried when two ids have the same order.
pub(crate) const PROBES: i64 = 64;

/// What the writer remembers from one transaction to the next, whatever happens to its connection.
pub(crate) struct State {
    pub(crate) clock: Arc<dyn Clock>,
    /// Both clocks when the store was opened.
    opened: (Timestamp, Duration),
    pub(crate) names: Names,
    pub(crate) tokens: Tokens,
    pub(crate) tallies: Tallies,
    /// Paused destinations; none: to be read.
    pub(crate) paused: Option<HashSet<i64>>,
    pub(crate) purge: Progress,
    /// Who drives which bulk replay. Not stored: there is one process, and its claims end with it.
    pub(crate) drivers: HashMap<ReplayJobId, JobHold>,
    /// Who reported that it lives. Not stored: a process that opens the store takes back every lease.
    pub(crate) owners: HashMap<Owner, Alive>,
    /// How far ids' own times are from their events' arrivals; none: to be read.
    pub(crate) skew_ms: Option<u64>,
    /// The time that was kept last for the next process; none: not known to be stored.
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
            paused: None,
            purge: Progress::default(),
            drivers: HashMap::new(),
            owners: HashMap::new(),
            skew_ms: None,
            moment_kept: None,
            replay_keep: options.replay_keep,
        })
    }

    /// Forgets what may not be stored any more.
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

/// How a transaction treats an item that fails by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// The transaction is rolled back and run again carefully: the ordinary case costs nothing.
    Swift,
    /// Every item has its own savepoint, so that only the failing one is undone.
    Careful,
}

/// One connection with what belongs to it.
pub(crate) struct Desk<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) hot: Hot<'c>,
    pub(crate) state: &'c mut State,
    pub(crate) care: Care,
}

/// The statements of every accept and every finish.
pub(crate) struct Hot<'c> {
    pub(crate) insert_ledger: Statement<'c>,
    pub(crate) insert_event: Statement<'c>,
    pub(crate) insert_work: Statement<'c>,
    pub(crate) select_running: Statement<'c>,
    pub(crate) delete_work: Statement<'c>,
    pub(crate) insert_outcome: Statement<'c>,
    pub(crate) insert_attempt: Statement<'c>,
}

impl<'c> Hot<'c> {
    pub(crate) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            insert_ledger: connection.prepare(crate::accept::INSERT_LEDGER)?,
            insert_event: connection.prepare(crate::accept::INSERT_EVENT)?,
            insert_work: connection.prepare(crate::accept::INSERT_WORK)?,
            select_running: connection.prepare(crate::finish::SELECT_RUNNING)?,
            delete_work: connection.prepare(crate::outcome::DELETE_WORK)?,
            insert_outcome: connection.prepare(crate::outcome::INSERT_OUTCOME)?,
            insert_attempt: connection.prepare(crate::finish::INSERT_ATTEMPT)?,
        })
    }
}

impl Desk<'_> {
    /// The wall clock, for stamps.
    pub(crate) fn now(&self) -> Timestamp {
        self.state.clock.now()
    }

    /// The time by which deliveries are due and leases end. It passes as the monotonic clock does: a wall clock that is
    /// set must neither hold back what waits nor end leases.
    pub(crate) fn moment(&self) -> Timestamp {
        let (wall, elapsed) = self.state.opened;
        wall.plus(self.state.clock.elapsed().saturating_sub(elapsed))
    }

    /// A new token.
    pub(crate) fn token(&mut self) -> Result<Token, Failure> {
        Ok(Token(self.number()? as u64))
    }

    /// The next number of the sequence that tokens come from.
    pub(crate) fn number(&mut self) -> Result<i64, Failure> {
        self.state.tokens.take(self.connection)
    }

    /// How far ids' own times may be from their events' arrivals.
    pub(crate) fn skew_ms(&mut self) -> Result<u64, Failure> {
        if let Some(skew_ms) = self.state.skew_ms {
            return Ok(skew_ms);
        }
        let skew_ms = read_skew_ms(self.connection)?;
        self.state.skew_ms = Some(skew_ms);
        Ok(skew_ms)
    }

    /// The number of a name, stored now if it was not.
    pub(crate) fn intern(&mut self, text: &str) -> Result<i64, Failure> {
        self.state.names.intern(self.connection, text)
    }

    /// The number of a name that is stored.
    pub(crate) fn find_name(&mut self, text: &str) -> Result<Option<i64>, Failure> {
        self.state.names.find(self.connection, text)
    }

    /// Runs one item. Where an item's failure is its own, its neighbours go on.
    pub(crate) fn item<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<Result<T, Failure>, Failure> {
        match self.care {
            Care::Swift => run(self).map(Ok),
            Care::Careful => {
                let tallies = self.state.tallies.clone();
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
                        Ok(Err(failure))
                    }
                    Err(failure) => Err(failure),
                }
            }
        }
    }
}

/// The row of an event: where its id's order says, or beside it after a collision.
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

/// How far ids' own times may be from their events' arrivals, as stored.
pub(crate) fn read_skew_ms(connection: &Connection) -> Result<u64, Failure> {
    let skew_ms: i64 = connection
        .prepare_cached("SELECT value FROM meta WHERE key = 'skew_ms'")?
        .query_row([], |row| row.get(0))?;
    Ok(u64::try_from(skew_ms).unwrap_or(u64::MAX))
}
