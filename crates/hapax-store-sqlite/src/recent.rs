//! The keys of the newest ledger entries, which the index does not have yet.
//!
//! Keys are random: each new one would change another page of the index. So the newest stay in memory, and are merged
//! into the index later, in the order of keys, so that many of them change one page. The writer's transactions merge a
//! few at a time, like the hand of a clock that goes round all keys. When it has gone round, every entry that existed
//! at the beginning of the round is in the index; the file records the last of them, and opening the file reads the
//! rows after it.
//!
//! Readers share the keys. What they find is a hint: the row counts if their snapshot shows it. So they see nothing that
//! is not committed, whatever the writer does here before its commit.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::ops::Bound;
use std::sync::Arc;

use hapax_core::Key;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension};

use crate::failure::Failure;

/// The maximum number of keys merged in one transaction.
const MERGE_MAX: usize = 4_096;
/// Fewer keys than this are not merged: a transaction with a single event need not touch the index.
const MERGE_MIN: usize = 256;
/// Merged keys that stay for readers whose snapshot is older than the merge.
const KEPT_MAX: usize = 16_384;
/// Rows read at a time when the file is opened.
const LOAD_ROWS: i64 = 65_536;

/// Which index a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    /// A unique index of all entries, as files of earlier versions have it. No key is kept in memory.
    Complete,
    /// The entries up to a mark, and some of those after it.
    Merged,
}

impl Index {
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(match mark(connection)? {
            Some(_) => Self::Merged,
            None => Self::Complete,
        })
    }
}

/// The last row up to which every entry is in the index.
fn mark(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection
        .query_row("SELECT value FROM meta WHERE key = 'ledger_merged'", [], |row| {
            row.get(0)
        })
        .optional()
}

/// The keys as the writer and the readers share them.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    entries: BTreeMap<Key, Entry>,
    /// The number of commits that merged or removed keys.
    commits: u64,
    /// The last of these commits whose keys are gone from here.
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    no: i64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not in the index.
    Waiting,
    /// In the index. It stays for readers whose snapshot has an older index.
    Merged,
    /// The current transaction has deleted its row.
    Removed,
}

impl Keys {
    /// The row of a key, if there is one in the reader's snapshot.
    pub(crate) fn hint(&self, key: Key) -> Option<i64> {
        self.entries.get(&key).map(|entry| entry.no)
    }

    /// Hints for the first keys after `after`.
    pub(crate) fn hints_after(&self, after: Option<Key>, limit: usize) -> Vec<(Key, i64)> {
        let some = self.entries.range((after_key(after), Bound::Unbounded));
        some.take(limit).map(|(key, entry)| (*key, entry.no)).collect()
    }

    /// To be noted before a snapshot begins.
    pub(crate) fn commits(&self) -> u64 {
        self.commits
    }

    /// Whether every key that is missing in the index of a snapshot is still here. `commits` was noted before it began.
    pub(crate) fn has_all_since(&self, commits: u64) -> bool {
        self.lost <= commits
    }
}

fn after_key(after: Option<Key>) -> Bound<Key> {
    after.map_or(Bound::Unbounded, Bound::Excluded)
}

/// A merged key that is still in memory.
#[derive(Debug)]
struct Kept {
    key: Key,
    no: i64,
    /// The commit that merged it.
    at: u64,
}

/// A change of the current transaction, with what a rollback restores.
#[derive(Debug)]
enum Change {
    Added { key: Key, before: Option<Entry> },
    Removed { key: Key, before: Entry },
}

/// How far the hand has come.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The last key that was merged.
    hand: Option<Key>,
    /// The last row when the round began.
    began_at: i64,
}

/// Keys to merge, in their order.
#[derive(Debug)]
struct Due {
    keys: Vec<(Key, i64)>,
    round: Round,
    /// If a round ends: the row up to which everything is in the index.
    merged: Option<i64>,
}

/// The writer's side of the keys.
#[derive(Debug)]
pub(crate) struct Recent {
    index: Index,
    keys: Arc<Mutex<Keys>>,
    /// The number of the next row.
    next: i64,
    waiting: usize,
    waiting_max: usize,
    kept: VecDeque<Kept>,
    kept_max: usize,
    round: Round,
    changes: Vec<Change>,
    /// What `lost` was before the current transaction replaced an entry; until its end, readers may miss the old one.
    lost_before: Option<u64>,
    /// What the current transaction merges.
    merging: Option<Due>,
}

impl Recent {
    /// Reads the keys that the index does not have.
    pub(crate) fn load(
        connection: &Connection,
        keys: Arc<Mutex<Keys>>,
        waiting_max: usize,
    ) -> rusqlite::Result<Self> {
        let mut entries = BTreeMap::new();
        let mark = mark(connection)?;
        let mut last = mark.unwrap_or(0);
        if mark.is_some() {
            let mut select =
                connection.prepare("SELECT key, no FROM ledger WHERE no > ?1 ORDER BY no LIMIT ?2")?;
            let mut find = connection.prepare("SELECT 1 FROM ledger_keys WHERE key = ?1")?;
            loop {
                let rows = select.query_map((last, LOAD_ROWS), |row| {
                    Ok((Key::from_bytes(row.get(0)?), row.get::<_, i64>(1)?))
                })?;
                let mut rows: Vec<(Key, i64)> = rows.collect::<Result<_, _>>()?;
                match rows.last() {
                    Some((_, no)) => last = *no,
                    None => break,
                }
                // In the order of the index, so that each of its pages is read once.
                rows.sort_unstable();
                for (key, no) in rows {
                    if !find.exists([key.as_bytes()])? {
                        let state = State::Waiting;
                        entries.insert(key, Entry { no, state });
                    }
                }
            }
        }
        let waiting = entries.len();
        let mut shared = keys.lock();
        shared.entries = entries;
        // Of a key that was here before, a reader with an older snapshot must not believe that it never was.
        shared.commits += 1;
        shared.lost = shared.commits;
        drop(shared);
        Ok(Self {
            index: if mark.is_some() {
                Index::Merged
            } else {
                Index::Complete
            },
            keys,
            next: last + 1,
            waiting,
            waiting_max,
            kept: VecDeque::new(),
            kept_max: KEPT_MAX.min(waiting_max),
            round: Round {
                hand: None,
                began_at: last,
            },
            changes: Vec::new(),
            lost_before: None,
            merging: None,
        })
    }

    /// Reads them again: after a commit that failed, only the file knows what happened.
    pub(crate) fn reload(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        *self = Self::load(connection, Arc::clone(&self.keys), self.waiting_max)?;
        Ok(())
    }

    pub(crate) fn index(&self) -> Index {
        self.index
    }

    /// The keys, for a reader.
    pub(crate) fn keys(&self) -> Arc<Mutex<Keys>> {
        Arc::clone(&self.keys)
    }

    /// The row of a key that is here.
    pub(crate) fn find(&self, key: Key) -> Option<i64> {
        match self.index {
            Index::Complete => None,
            Index::Merged => {
                let keys = self.keys.lock();
                let found = keys.entries.get(&key)?;
                (found.state != State::Removed).then_some(found.no)
            }
        }
    }

    /// The number for the next row; `None` lets SQLite choose it.
    pub(crate) fn next_row(&self) -> Option<i64> {
        match self.index {
            Index::Complete => None,
            Index::Merged => Some(self.next),
        }
    }

    /// A row was appended under the number that [`Self::next_row`] gave. No other row ever gets it, not even after a
    /// rollback.
    pub(crate) fn add(&mut self, key: Key) {
        match self.index {
            Index::Complete => {}
            Index::Merged => {
                let entry = Entry {
                    no: self.next,
                    state: State::Waiting,
                };
                self.next += 1;
                self.waiting += 1;
                let mut keys = self.keys.lock();
                let before = keys.entries.insert(key, entry);
                if before.is_some() {
                    let lost = mem::replace(&mut keys.lost, u64::MAX);
                    self.lost_before.get_or_insert(lost);
                }
                self.changes.push(Change::Added { key, before });
            }
        }
    }

    /// The row of a key was deleted, and the key from the index.
    pub(crate) fn remove(&mut self, key: Key) {
        let mut keys = self.keys.lock();
        let Some(entry) = keys.entries.get_mut(&key) else {
            return;
        };
        let before = *entry;
        entry.state = State::Removed;
        self.waiting -= usize::from(before.state == State::Waiting);
        self.changes.push(Change::Removed { key, before });
    }

    /// Merges keys into the index if enough of them wait.
    pub(crate) fn merge(&mut self, connection: &Connection) -> Result<(), Failure> {
        let Some(due) = self.due() else {
            return Ok(());
        };
        let mut insert = connection.prepare_cached(
            "INSERT INTO ledger_keys (key, no) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING",
        )?;
        for (key, no) in &due.keys {
            if insert.execute((key.as_bytes(), no))? == 0 {
                tracing::error!(?key, no, "a key has two ledger entries; the first is kept");
            }
        }
        if let Some(no) = due.merged {
            connection
                .prepare_cached("UPDATE meta SET value = ?1 WHERE key = 'ledger_merged'")?
                .execute([no])?;
        }
        self.merging = Some(due);
        Ok(())
    }

    /// The keys after the hand, as many as there are too many of.
    fn due(&self) -> Option<Due> {
        let too_many = self.waiting.saturating_sub(self.waiting_max);
        let enough = MERGE_MIN.min(self.waiting_max).max(1);
        if too_many < enough {
            return None;
        }
        let count = too_many.min(MERGE_MAX);
        let keys = self.keys.lock();
        let waiting = |bounds: (Bound<Key>, Bound<Key>), count: usize| {
            let entries = keys.entries.range(bounds);
            let waiting = entries.filter(|(_, entry)| entry.state == State::Waiting);
            waiting.take(count).map(|(key, entry)| (*key, entry.no))
        };
        let hand = self.round.hand;
        let mut due: Vec<(Key, i64)> = waiting((after_key(hand), Bound::Unbounded), count).collect();
        let mut round = self.round;
        let mut merged = None;
        if let Some(hand) = hand
            && due.len() < count
        {
            // The round is complete: every row that existed when it began has been passed.
            merged = Some(round.began_at);
            round.began_at = self.next - 1;
            due.extend(waiting(
                (Bound::Unbounded, Bound::Included(hand)),
                count - due.len(),
            ));
        }
        round.hand = due.last().map(|(key, _)| *key);
        Some(Due {
            keys: due,
            round,
            merged,
        })
    }

    /// A point that [`Self::undo_to`] can go back to.
    pub(crate) fn savepoint(&self) -> usize {
        self.changes.len()
    }

    /// Undoes the changes of the current transaction since a savepoint.
    pub(crate) fn undo_to(&mut self, savepoint: usize) {
        let mut keys = self.keys.lock();
        while self.changes.len() > savepoint
            && let Some(change) = self.changes.pop()
        {
            match change {
                Change::Added { key, before } => {
                    self.waiting -= 1;
                    match before {
                        Some(before) => keys.entries.insert(key, before),
                        None => keys.entries.remove(&key),
                    };
                }
                Change::Removed { key, before } => {
                    self.waiting += usize::from(before.state == State::Waiting);
                    keys.entries.insert(key, before);
                }
            }
        }
    }

    /// The transaction was rolled back.
    pub(crate) fn rolled_back(&mut self) {
        self.undo_to(0);
        self.merging = None;
        if let Some(lost) = self.lost_before.take() {
            self.keys.lock().lost = lost;
        }
    }

    /// The transaction was committed.
    pub(crate) fn committed(&mut self) {
        let mut keys = self.keys.lock();
        if let Some(lost) = self.lost_before.take() {
            keys.lost = lost;
        }
        let merging = self.merging.take();
        let is_removed = |change: &Change| matches!(change, Change::Removed { .. });
        if merging.is_none() && !self.changes.iter().any(is_removed) {
            self.changes.clear();
            return;
        }
        keys.commits += 1;
        let at = keys.commits;
        for change in self.changes.drain(..) {
            match change {
                Change::Added { .. } => {}
                Change::Removed { key, .. } => {
                    // It may have been added again since.
                    if keys
                        .entries
                        .get(&key)
                        .is_some_and(|entry| entry.state == State::Removed)
                    {
                        keys.entries.remove(&key);
                    }
                    keys.lost = at;
                }
            }
        }
        if let Some(due) = merging {
            self.round = due.round;
            self.waiting -= due.keys.len();
            for (key, no) in due.keys {
                if let Some(entry) = keys.entries.get_mut(&key) {
                    entry.state = State::Merged;
                }
                self.kept.push_back(Kept { key, no, at });
            }
        }
        while self.kept.len() > self.kept_max
            && let Some(kept) = self.kept.pop_front()
        {
            if keys
                .entries
                .get(&kept.key)
                .is_some_and(|entry| entry.no == kept.no)
            {
                keys.entries.remove(&kept.key);
                keys.lost = keys.lost.max(kept.at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
