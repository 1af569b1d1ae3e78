//! Where the row of a key is in the ledger: among the newest entries, or in the index.

use hapax_core::{BodyHash, EventId, Generation, Key, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::recent::Index;
use crate::rows::key_at;

/// An entry to append.
#[derive(Debug)]
pub(crate) struct NewEntry<'e> {
    pub(crate) key: Key,
    pub(crate) scope: i64,
    pub(crate) id: EventId,
    pub(crate) generation: Generation,
    pub(crate) first_seen: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) raw_hash: &'e BodyHash,
    pub(crate) content_rule: Option<i64>,
    pub(crate) content_hash: Option<&'e BodyHash>,
    pub(crate) is_forgotten: bool,
}

/// Appends an entry unless its key has one. Returns whether it did.
pub(crate) fn append(desk: &mut Desk<'_>, entry: &NewEntry<'_>) -> Result<bool, Failure> {
    if desk.state.recent.find(entry.key).is_some() {
        return Ok(false);
    }
    // Appends nothing if the key is in the index.
    let appended = desk.hot.insert_ledger.execute(params![
        desk.state.recent.next_row(),
        entry.key.as_bytes(),
        entry.scope,
        entry.id.as_bytes(),
        entry.generation.0,
        entry.first_seen.as_micros(),
        entry.expires_at.as_micros(),
        entry.raw_hash.as_bytes(),
        entry.content_rule,
        entry.content_hash.map(BodyHash::as_bytes),
        entry.is_forgotten,
    ])?;
    if appended == 1 {
        desk.state.recent.add(entry.key);
    }
    Ok(appended == 1)
}

/// The row of a key.
pub(crate) fn find(desk: &Desk<'_>, key: Key) -> Result<Option<i64>, Failure> {
    match desk.state.recent.find(key) {
        Some(no) => Ok(Some(no)),
        None => indexed(desk.connection, key),
    }
}

/// Deletes the entry of a key, which is in row `no`.
pub(crate) fn remove(desk: &mut Desk<'_>, key: Key, no: i64) -> Result<(), Failure> {
    desk.connection
        .prepare_cached("DELETE FROM ledger WHERE no = ?1")?
        .execute([no])?;
    match desk.state.recent.index() {
        Index::Complete => {}
        Index::Merged => {
            desk.connection
                .prepare_cached("DELETE FROM ledger_keys WHERE key = ?1")?
                .execute([key.as_bytes()])?;
            desk.state.recent.remove(key);
        }
    }
    Ok(())
}

/// The row of a key in a reader's snapshot.
pub(crate) fn find_in(desk: &ReadDesk, key: Key) -> Result<Option<i64>, Failure> {
    let hint = desk.keys.lock().hint(key);
    if let Some(no) = hint
        && is_at(&desk.connection, key, no)?
    {
        return Ok(Some(no));
    }
    if let Some(no) = indexed(&desk.connection, key)? {
        return Ok(Some(no));
    }
    if has_all(desk) {
        return Ok(None);
    }
    let mut select = desk.connection.prepare_cached(
        "SELECT no FROM ledger WHERE no > (SELECT value FROM meta WHERE key = 'ledger_merged') AND key = ?1",
    )?;
    Ok(select.query_row([key.as_bytes()], |row| row.get(0)).optional()?)
}

/// The first keys after `after` in a reader's snapshot, in their order.
pub(crate) fn keys_after(desk: &ReadDesk, after: Option<Key>, limit: usize) -> Result<Vec<Key>, Failure> {
    let indexed = "SELECT key FROM ledger_keys WHERE key > ?1 ORDER BY key LIMIT ?2";
    let mut keys = select_keys(desk, indexed, after, limit)?;
    let recent = recent_after(desk, after, limit)?;
    if has_all(desk) {
        keys.extend(recent);
    } else {
        let beyond_the_mark = "SELECT key FROM ledger
             WHERE no > (SELECT value FROM meta WHERE key = 'ledger_merged') AND key > ?1 ORDER BY key LIMIT ?2";
        keys.extend(select_keys(desk, beyond_the_mark, after, limit)?);
    }
    keys.sort_unstable();
    keys.dedup();
    keys.truncate(limit);
    Ok(keys)
}

fn recent_after(desk: &ReadDesk, after: Option<Key>, limit: usize) -> Result<Vec<Key>, Failure> {
    let mut found = Vec::new();
    let mut from = after;
    while found.len() < limit {
        let hints = desk.keys.lock().hints_after(from, limit);
        let Some((last, _)) = hints.last() else {
            break;
        };
        from = Some(*last);
        for (key, no) in hints {
            if is_at(&desk.connection, key, no)? {
                found.push(key);
            }
        }
    }
    Ok(found)
}

fn select_keys(desk: &ReadDesk, sql: &str, after: Option<Key>, limit: usize) -> Result<Vec<Key>, Failure> {
    let mut select = desk.connection.prepare_cached(sql)?;
    let after: &[u8] = after.as_ref().map_or(&[], |key| key.as_bytes());
    let mut rows = select.query((after, limit as i64))?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(key_at(row, 0)?);
    }
    Ok(keys)
}

/// Whether a key that is neither among the newest nor in the snapshot's index is not in the snapshot. It may be if it
/// was merged after the snapshot began and has left the newest since.
fn has_all(desk: &ReadDesk) -> bool {
    desk.keys.lock().has_all_since(desk.keys_since)
}

/// Whether row `no` has this key, in the snapshot of the connection.
fn is_at(connection: &Connection, key: Key, no: i64) -> Result<bool, Failure> {
    Ok(connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM ledger WHERE no = ?1 AND key = ?2)")?
        .query_row((no, key.as_bytes()), |row| row.get(0))?)
}

fn indexed(connection: &Connection, key: Key) -> Result<Option<i64>, Failure> {
    Ok(connection
        .prepare_cached("SELECT no FROM ledger_keys WHERE key = ?1")?
        .query_row([key.as_bytes()], |row| row.get(0))
        .optional()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use hapax_core::SystemClock;

    use super::*;
    use crate::Options;
    use crate::desk::Care;
    use crate::hot::Hot;
    use crate::names::Names;
    use crate::open::{Opened, open};

    fn key(number: u8) -> Key {
        // Not in the order of their rows.
        Key::from_bytes([number.wrapping_mul(151); 16])
    }

    fn begin(desk: &Desk<'_>) {
        desk.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    }

    fn append_key(desk: &mut Desk<'_>, number: u8) -> bool {
        let hash = BodyHash::from_bytes([0; 32]);
        let entry = NewEntry {
            key: key(number),
            scope: 1,
            id: EventId::from_bytes([number; 16]),
            generation: Generation(0),
            first_seen: Timestamp::from_micros(0),
            expires_at: Timestamp::from_micros(0),
            raw_hash: &hash,
            content_rule: None,
            content_hash: None,
            is_forgotten: false,
        };
        append(desk, &entry).unwrap()
    }

    fn commit(desk: &mut Desk<'_>) {
        desk.state.recent.merge(desk.connection).unwrap();
        desk.connection.execute_batch("COMMIT").unwrap();
        desk.state.recent.committed();
    }

    fn reader(path: &Path, desk: &Desk<'_>) -> ReadDesk {
        let keys = desk.state.recent.keys();
        let keys_since = keys.lock().commits();
        let connection = crate::connection::for_reading(path).unwrap();
        let begin = "BEGIN; SELECT count(*) FROM meta;";
        connection.execute_batch(begin).unwrap();
        ReadDesk {
            connection,
            names: Names::default(),
            path: path.to_owned(),
            list_scan_max: 1,
            keys,
            keys_since,
        }
    }

    fn found(desk: &ReadDesk) -> Vec<u8> {
        let numbers: Vec<u8> = (0..=250)
            .filter(|number| find_in(desk, key(*number)).unwrap().is_some())
            .collect();
        let mut keys: Vec<Key> = numbers.iter().map(|number| key(*number)).collect();
        keys.sort_unstable();
        assert_eq!(keys_after(desk, None, 500).unwrap(), keys);
        for (at, after) in keys.iter().enumerate() {
            let next: Vec<Key> = keys[at + 1..].iter().take(3).copied().collect();
            assert_eq!(keys_after(desk, Some(*after), 3).unwrap(), next);
        }
        numbers
    }

    #[test]
    fn a_reader_sees_the_entries_of_its_snapshot_wherever_their_keys_have_gone_since() {
        for recent_keys_max in [1, 5, 1_000] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("hapax.db");
            let mut options = Options::new(Arc::new(SystemClock::default()));
            options.recent_keys_max = recent_keys_max;
            let Opened {
                connection,
                mut state,
                lock: _lock,
                ..
            } = open(&path, &options).unwrap();
            let mut desk = Desk {
                connection: &connection,
                hot: Hot::prepare(&connection).unwrap(),
                state: &mut state,
                care: Care::Swift,
            };
            let mut readers = vec![(Vec::new(), reader(&path, &desk))];
            for number in 0..60 {
                begin(&desk);
                assert!(append_key(&mut desk, number));
                let during = reader(&path, &desk);
                assert_eq!(
                    found(&during),
                    (0..number).collect::<Vec<_>>(),
                    "before the commit"
                );
                commit(&mut desk);
                if number % 12 == 5 {
                    readers.push(((0..=number).collect(), reader(&path, &desk)));
                }
            }
            for number in 0..60 {
                begin(&desk);
                assert!(!append_key(&mut desk, number), "{number} has an entry");
                commit(&mut desk);
            }
            begin(&desk);
            for number in 10..20 {
                let no = find(&desk, key(number)).unwrap().unwrap();
                remove(&mut desk, key(number), no).unwrap();
                assert_eq!(find(&desk, key(number)).unwrap(), None);
            }
            assert!(append_key(&mut desk, 15));
            let during = reader(&path, &desk);
            assert_eq!(found(&during), (0..60).collect::<Vec<_>>(), "before the commit");
            commit(&mut desk);
            for (numbers, reader) in readers {
                assert_eq!(found(&reader), numbers);
            }
            let now: Vec<u8> = (0..60)
                .filter(|number| !(10..20).contains(number) || *number == 15)
                .collect();
            assert_eq!(found(&reader(&path, &desk)), now);
        }
    }
}
