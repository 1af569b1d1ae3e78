//! The state of an encrypted store: one small cell that replicas compare and swap.
//!
//! It holds the digest key, wrapped under every configured key, which proves that a key is the right one. It also holds
//! which keys rows may still be sealed with, so that a missing key is reported at the start and not later.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_lc_rs::rand;
use hapax_core::store::{Error, KEYRING_NAME, MigrationCursor, ValueSpace, ValueSwap};
use hapax_core::{Backend, Timestamp};
use serde::{Deserialize, Serialize};

use crate::digests::Digests;
use crate::keys::{KeyId, Keys, Subject, Writes};

/// How often the cell is read again because another replica swapped it.
const ROUNDS_MAX: usize = 20;

/// How long a walk belongs to a process that has fallen silent.
const PASS_LEASE: Duration = Duration::from_secs(60);
/// A process that writes reports it every minute; after this long without a report it is gone.
const WRITER_GONE_MICROS: i64 = 150_000_000;
/// Stands for values that are not encrypted. It cannot be a key id.
const PLAIN: &str = "plain";

const SUBJECT: Subject<'static> = Subject::new("keyring", b"");
/// Names the form of the digests: a key of another form does not open.
const COLUMN: &[u8] = b"digests:xts";

/// Why an encrypted store was not opened. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the store is encrypted (key {}), and `store.encryption_keys` is empty; set it to the keys that the store was \
         written with",
        text(.0)
    )]
    NoKeys(Vec<KeyId>),
    /// None of the configured keys belongs to the store.
    #[error(
        "none of `store.encryption_keys` (key {}) is a key of this store (key {}); use the keys that it was written with, \
         and add a new one next to them",
        text(.configured), text(.wanted)
    )]
    WrongKeys {
        configured: Vec<KeyId>,
        /// The store's keys.
        wanted: Vec<KeyId>,
    },
    /// Rows may be left under a key that is not configured.
    #[error(
        "rows of the store may still be encrypted under a key that is not in `store.encryption_keys` (key {}); add \
         that key again, after the first, until `hapax doctor` reports that it is no longer needed",
        text(.0)
    )]
    MissingKeys(Vec<KeyId>),
    #[error(
        "the store's keyring cannot be read: it was changed, or written by a newer release; restore the entry \
         `{KEYRING_NAME}` of the alerts from a backup"
    )]
    Unreadable,
    /// Other replicas swapped the cell on every try.
    #[error("the store's keyring keeps changing; start the service again")]
    Contended,
    #[error(transparent)]
    Store(#[from] Error),
}

fn text(ids: &[KeyId]) -> String {
    let ids: Vec<String> = ids.iter().map(KeyId::to_string).collect();
    ids.join(", ")
}

/// The forms that rows may be in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Keys that rows may be sealed with.
    pub keys: BTreeSet<KeyId>,
    /// Whether rows may be plain.
    pub plain: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cell {
    /// The digest key, by the id of the key that wraps it.
    digests: BTreeMap<String, String>,
    /// Keys that rows may be sealed with.
    in_use: BTreeSet<String>,
    /// Whether rows may be plain.
    plain: bool,
    /// When a process last reported that it writes with a key, in microseconds; `plain` for those that do not encrypt.
    #[serde(default)]
    writers: BTreeMap<String, i64>,
    /// The walk over all rows that is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pass: Option<Pass>,
    /// The result of the last walk that finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// A walk over all rows that rewrites them under one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pass {
    /// The target key.
    key: String,
    /// The process that walks, until this time, in microseconds. After it, another may continue.
    walker: u64,
    until: i64,
    /// When it began, at the first row.
    began: i64,
    pub(crate) reached: MigrationCursor,
    /// The values found so far.
    pub(crate) found: Counted,
    /// Values rewritten so far.
    pub(crate) rewritten: u64,
}

/// The values that a walk over all rows found, before it rewrote any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Values under each key; under `plain`, unencrypted ones.
    pub values: BTreeMap<String, u64>,
    /// When the walk ended, in microseconds since 1970.
    pub at: i64,
}

impl Counted {
    pub(crate) fn add(&mut self, key: Option<KeyId>) {
        let name = key.map_or_else(|| PLAIN.to_owned(), |key| key.to_string());
        *self.values.entry(name).or_default() += 1;
    }

    /// How many values are not under this key.
    pub fn others(&self, key: KeyId) -> u64 {
        let name = key.to_string();
        let others = self.values.iter().filter(|(other, _)| **other != name);
        others.map(|(_, count)| count).sum()
    }
}

impl Cell {
    fn rows(&self) -> Option<Rows> {
        let ids = self.in_use.iter().map(|id| KeyId::from_text(id));
        Some(Rows {
            keys: ids.collect::<Option<_>>()?,
            plain: self.plain,
        })
    }

    fn wrapped_by(&self) -> Vec<KeyId> {
        self.digests
            .keys()
            .filter_map(|id| KeyId::from_text(id))
            .collect()
    }
}

/// The keyring as read when the store was opened.
#[derive(Debug)]
pub(crate) struct Keyring {
    pub(crate) digests: Digests,
    pub(crate) rows: Rows,
}

/// Refuses an encrypted store if no key is configured.
pub(crate) async fn refuse_encrypted(store: &dyn Backend) -> Result<(), OpenError> {
    match read(store).await? {
        Some((cell, _)) if !cell.in_use.is_empty() => Err(OpenError::NoKeys(cell.wrapped_by())),
        Some(_) | None => Ok(()),
    }
}

/// Opens the keyring with the configured keys, or creates it. When this returns, the store remembers that rows may be
/// sealed with the writing key.
pub(crate) async fn open(store: &dyn Backend, keys: &Keys) -> Result<Keyring, OpenError> {
    for _ in 0..ROUNDS_MAX {
        let found = read(store).await?;
        let (before, mut cell) = match found {
            Some((cell, bytes)) => (Some(bytes), cell),
            None => (None, made(store).await?),
        };
        let known = cell.clone();
        let key = settle(&mut cell, keys, before.is_none())?;
        if before.is_none() || cell != known {
            let after = serde_json::to_vec(&cell).map_err(|_| OpenError::Unreadable)?;
            if !write(store, before, after).await? {
                continue;
            }
        }
        return Ok(Keyring {
            digests: Digests::new(&key),
            rows: cell.rows().ok_or(OpenError::Unreadable)?,
        });
    }
    Err(OpenError::Contended)
}

/// Claims the walk over all rows for this process: from where the last walker of this key stopped, or from the start.
/// None if another process holds it.
pub(crate) async fn take_pass(
    store: &dyn Backend,
    key: KeyId,
    walker: u64,
    now: Timestamp,
) -> Result<Option<Pass>, OpenError> {
    let key = key.to_string();
    let taken = swap(store, |cell| {
        let known = cell.pass.take();
        let is_free = |pass: &Pass| pass.walker == walker || pass.until <= now.as_micros();
        if known.as_ref().is_some_and(|pass| !is_free(pass)) {
            return None;
        }
        let fresh = || Pass {
            key: key.clone(),
            walker,
            until: 0,
            began: now.as_micros(),
            reached: MigrationCursor::START,
            found: Counted::default(),
            rewritten: 0,
        };
        let mut pass = known.filter(|pass| pass.key == key).unwrap_or_else(fresh);
        pass.walker = walker;
        pass.until = now.plus(PASS_LEASE).as_micros();
        cell.pass = Some(pass.clone());
        Some(pass)
    });
    taken.await
}

/// Records how far the walk has come, to continue it or leave it to others. Returns whether this process still holds
/// it.
pub(crate) async fn keep_pass(
    store: &dyn Backend,
    pass: &Pass,
    goes_on: Option<Timestamp>,
) -> Result<bool, OpenError> {
    let kept = swap(store, |cell| {
        let own = cell.pass.as_mut().filter(|known| known.walker == pass.walker)?;
        *own = Pass {
            until: goes_on.map_or(0, |now| now.plus(PASS_LEASE).as_micros()),
            ..pass.clone()
        };
        Some(())
    });
    Ok(kept.await?.is_some())
}

/// Ends the walk. If it found only values under its key, and nothing was written otherwise since it began, no other key
/// is needed any longer. Returns the forms that rows may be in, if this process still held the walk.
pub(crate) async fn end_pass(
    store: &dyn Backend,
    pass: &Pass,
    now: Timestamp,
) -> Result<Option<Rows>, OpenError> {
    let ended = swap(store, |cell| {
        cell.pass.take_if(|known| known.walker == pass.walker)?;
        let found = Counted {
            at: now.as_micros(),
            ..pass.found.clone()
        };
        let was_alone = cell
            .writers
            .iter()
            .all(|(key, at)| *key == pass.key || at.saturating_add(WRITER_GONE_MICROS) < pass.began);
        if was_alone && found.values.keys().all(|name| *name == pass.key) {
            cell.in_use = BTreeSet::from([pass.key.clone()]);
            cell.plain = false;
        }
        cell.counted = Some(found);
        cell.rows()
    });
    ended.await
}

/// Reports that this process writes with the first key, or in plain, for the next [`WRITER_GONE_MICROS`].
pub(crate) async fn note_writer(store: &dyn Backend, keys: &Keys, now: Timestamp) -> Result<(), OpenError> {
    let name = match keys.writes() {
        Writes::Sealed => keys.first_id().to_string(),
        Writes::Plain => PLAIN.to_owned(),
    };
    let noted = swap(store, |cell| {
        cell.writers.insert(name.clone(), now.as_micros());
        Some(())
    });
    noted.await.map(|_| ())
}

/// The result of the last walk that finished.
pub(crate) async fn counted(store: &dyn Backend) -> Result<Option<Counted>, OpenError> {
    Ok(read(store).await?.and_then(|(cell, _)| cell.counted))
}

/// Changes the cell, unless `change` finds nothing to change.
async fn swap<T>(
    store: &dyn Backend,
    change: impl Fn(&mut Cell) -> Option<T>,
) -> Result<Option<T>, OpenError> {
    for _ in 0..ROUNDS_MAX {
        let Some((mut cell, before)) = read(store).await? else {
            return Err(OpenError::Unreadable);
        };
        let Some(answer) = change(&mut cell) else {
            return Ok(None);
        };
        let after = serde_json::to_vec(&cell).map_err(|_| OpenError::Unreadable)?;
        if write(store, Some(before), after).await? {
            return Ok(Some(answer));
        }
    }
    Err(OpenError::Contended)
}

async fn read(store: &dyn Backend) -> Result<Option<(Cell, Vec<u8>)>, OpenError> {
    let Some(value) = store.value(&ValueSpace::Alerts, KEYRING_NAME).await? else {
        return Ok(None);
    };
    let cell = serde_json::from_slice(&value).map_err(|_| OpenError::Unreadable)?;
    Ok(Some((cell, value)))
}

/// Replaces the cell if it is unchanged; returns whether it was.
async fn write(store: &dyn Backend, before: Option<Vec<u8>>, after: Vec<u8>) -> Result<bool, Error> {
    let swap = ValueSwap::exact(ValueSpace::Alerts, KEYRING_NAME, before, Some(after));
    Ok(store.swap_value(swap).await?.is_done())
}

/// The cell of a store that was never encrypted.
async fn made(store: &dyn Backend) -> Result<Cell, OpenError> {
    let counts = store.counts().await?;
    Ok(Cell {
        plain: counts.events > 0 || counts.ledger.iter().any(|scope| scope.entries > 0),
        ..Cell::default()
    })
}

/// Wraps the digest key under every configured key, and records what will be written. Returns the digest key.
fn settle(cell: &mut Cell, keys: &Keys, is_new: bool) -> Result<[u8; 32], OpenError> {
    let rows = cell.rows().ok_or(OpenError::Unreadable)?;
    let key = if is_new { drawn()? } else { unwrapped(cell, keys)? };
    let is_missing = |id: &&KeyId| keys.get(**id).is_none();
    let missing: Vec<KeyId> = rows.keys.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        return Err(OpenError::MissingKeys(missing));
    }
    cell.digests
        .retain(|id, _| KeyId::from_text(id).is_some_and(|id| keys.get(id).is_some()));
    for master in keys.all() {
        if let Entry::Vacant(missing) = cell.digests.entry(master.id().to_string()) {
            let wrapped = master.sealer(SUBJECT)?.seal(COLUMN, &key)?;
            missing.insert(hex::encode(wrapped));
        }
    }
    // Values of sources are always sealed.
    cell.in_use.insert(keys.first().id().to_string());
    cell.plain |= keys.writes() == Writes::Plain;
    Ok(key)
}

fn drawn() -> Result<[u8; 32], OpenError> {
    let mut key = [0; 32];
    rand::fill(&mut key).map_err(|_| {
        OpenError::Store(Error::Unavailable {
            message: "the system's random number generator failed".to_owned(),
            source: None,
        })
    })?;
    Ok(key)
}

fn unwrapped(cell: &Cell, keys: &Keys) -> Result<[u8; 32], OpenError> {
    let mut opener = keys.opener(SUBJECT);
    for (id, wrapped) in &cell.digests {
        if KeyId::from_text(id).is_some_and(|id| keys.get(id).is_some()) {
            let wrapped = hex::decode(wrapped).map_err(|_| OpenError::Unreadable)?;
            let key = opener.open(COLUMN, &wrapped).map_err(|_| OpenError::Unreadable)?;
            return key.try_into().map_err(|_| OpenError::Unreadable);
        }
    }
    Err(OpenError::WrongKeys {
        configured: keys.all().map(crate::keys::MasterKey::id).collect(),
        wanted: cell.wrapped_by(),
    })
}
