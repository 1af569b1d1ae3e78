//! Bodies from providers that do not sign the id: the same body under another id is flagged, or claimed by the accept
//! that brings it. Names bound to a body are stored here too.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hapax_core::store::{Binding, BodyNote};
use hapax_core::{BodyHash, Key, NewEvent, Scope};
use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::rows::{bucket_by, bucket_of, hash_at, id_at, time_at, uuid_of};
use crate::session::Session;

const INSERT: &str = "
    INSERT INTO hapax.bodies {sorted rows} ON CONFLICT (bucket, scope, raw_hash) DO NOTHING";

const FIRST: &str = "
    SELECT b.scope, b.raw_hash, b.id, b.until
    FROM {n} JOIN hapax.bodies b ON b.bucket = {bucket} AND b.scope = n.scope AND b.raw_hash = n.raw_hash";

const FORGET: &str = "
    DELETE FROM hapax.bodies AS b USING {n}
    WHERE b.bucket = {bucket} AND b.scope = n.scope AND b.raw_hash = n.raw_hash AND b.id = n.id
    RETURNING b.scope, b.raw_hash";

const STORED: &str = "SELECT e.id FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id";

const FLAG: &str = "INSERT INTO hapax.same_body {sorted rows} ON CONFLICT (bucket, id) DO NOTHING";

const PASS_ON: &str = "
    UPDATE hapax.bodies AS b SET id = n.id, until = n.until
    FROM {n} WHERE b.bucket = {bucket} AND b.scope = n.scope AND b.raw_hash = n.raw_hash";

/// Remembers the first event of each body and flags later events with the same body.
pub(crate) async fn note_bodies(session: &Session, notes: &[BodyNote]) -> Result<(), Failure> {
    if notes.is_empty() {
        return Ok(());
    }
    // Of two notes in one call, the first is the earlier. A global order avoids deadlocks.
    let mut firsts: BTreeMap<Name<'_>, &BodyNote> = BTreeMap::new();
    for note in notes {
        firsts.entry(name(note)).or_insert(note);
    }
    session.begin().await?;
    let known = keep(session, &firsts).await?;
    let mut later: BTreeMap<(i16, Uuid), Uuid> = BTreeMap::new();
    for note in notes {
        let (_, scope, hash) = name(note);
        let first = known.get(&(scope.to_owned(), hash.to_vec()));
        if let Some(first) = first.filter(|first| **first != uuid_of(note.id)) {
            later
                .entry((bucket_of(note.id), uuid_of(note.id)))
                .or_insert(*first);
        }
    }
    flag(session, later).await?;
    session.commit().await
}

/// Claims the bodies of new events in the transaction that accepts them, and flags events whose body belongs to another
/// event. Returns the keys of the flagged events. Each event comes with the previous event of its identity, whose claim
/// passes to it.
///
/// Two transactions with the same body under two ids meet at its row, where the second waits for the first to commit or
/// roll back. This cannot deadlock: at this point each batch already holds all the ledger entries that it needs.
pub(crate) async fn claim(
    session: &Session,
    events: &[(&NewEvent, Option<Uuid>)],
) -> Result<HashSet<Key>, Failure> {
    let claims = events.iter();
    let claims = claims.filter_map(|(event, last)| Some((event.key, *last, BodyNote::claimed_by(event)?)));
    let claims: Vec<(Key, Option<Uuid>, BodyNote)> = claims.collect();
    let mut firsts: BTreeMap<Name<'_>, &BodyNote> = BTreeMap::new();
    for (.., note) in &claims {
        firsts.entry(name(note)).or_insert(note);
    }
    if firsts.is_empty() {
        return Ok(HashSet::new());
    }
    let known = keep(session, &firsts).await?;
    let (mut held, mut flags, mut passed) = (HashSet::new(), BTreeMap::new(), BTreeMap::new());
    for (key, last, note) in &claims {
        let (_, scope, hash) = name(note);
        // A body that was neither stored nor found has just been purged: run the whole step again.
        let first = known
            .get(&(scope.to_owned(), hash.to_vec()))
            .ok_or(Failure::Moved)?;
        if Some(*first) == *last {
            passed.insert(name(note), note);
        } else if *first != uuid_of(note.id) {
            flags.insert((bucket_of(note.id), uuid_of(note.id)), *first);
            held.insert(*key);
        }
    }
    session.write(PASS_ON, &bodies(&passed)).await?;
    write_flags(session, &flags).await?;
    Ok(held)
}

/// Returns whether a name is bound to this body, binding it now if it was free. Of two concurrent calls, the second
/// waits for the first to commit.
pub(crate) async fn bind(session: &Session, binding: &Binding) -> Result<bool, Failure> {
    let note = binding.note();
    session.begin().await?;
    let known = keep(session, &BTreeMap::from([(name(&note), &note)])).await?;
    session.commit().await?;
    Ok(known.into_values().next() == Some(uuid_of(note.id)))
}

/// The subset of these bodies that are remembered.
pub(crate) async fn remembered(
    session: &Session,
    bodies: &[(Scope, BodyHash)],
) -> Result<Vec<BodyNote>, Failure> {
    let named = || bodies.iter().map(|(scope, hash)| bucket(scope, hash));
    let batch = Batch::in_buckets(named().map(|(bucket, ..)| bucket))
        .column("scope", named().map(|(_, scope, _)| scope))
        .column("raw_hash", named().map(|(.., hash)| hash));
    let rows = session.over(FIRST, &batch).await?;
    rows.iter()
        .map(|row| {
            Ok(BodyNote {
                scope: row.try_get::<_, &str>(0)?.into(),
                raw_hash: hash_at(row, 1)?,
                id: id_at(row, 2)?,
                until: time_at(row, 3)?,
            })
        })
        .collect()
}

/// Renames notes that still belong to the same event, within a transaction. If the new name is already known, the old
/// one is deleted.
pub(crate) async fn rename(session: &Session, notes: &[(&BodyNote, &BodyNote)]) -> Result<(), Failure> {
    let before: BTreeMap<Name<'_>, &BodyNote> =
        notes.iter().map(|(before, _)| (name(before), *before)).collect();
    let rows = session.over(FORGET, &bodies(&before)).await?;
    let mut gone = HashSet::new();
    for row in &rows {
        gone.insert((row.try_get::<_, String>(0)?, row.try_get::<_, Vec<u8>>(1)?));
    }
    let after = notes.iter().filter(|(before, _)| {
        let (_, scope, hash) = name(before);
        gone.contains(&(scope.to_owned(), hash.to_vec()))
    });
    let after: BTreeMap<Name<'_>, &BodyNote> = after.map(|(_, after)| (name(after), *after)).collect();
    session.write(INSERT, &bodies(&after)).await
}

/// Stores notes for bodies that are not known yet. Returns the id stored for each body.
async fn keep(
    session: &Session,
    notes: &BTreeMap<Name<'_>, &BodyNote>,
) -> Result<BTreeMap<(String, Vec<u8>), Uuid>, Failure> {
    session.write(INSERT, &bodies(notes)).await?;
    let mut known = BTreeMap::new();
    for row in &session.over(FIRST, &names(notes)).await? {
        known.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    Ok(known)
}

fn names<'n>(notes: &BTreeMap<Name<'n>, &BodyNote>) -> Batch<'n> {
    Batch::in_buckets(notes.keys().map(|(bucket, ..)| *bucket))
        .column("scope", notes.keys().map(|(_, scope, _)| *scope))
        .column("raw_hash", notes.keys().map(|(.., hash)| *hash))
}

fn bodies<'n>(notes: &BTreeMap<Name<'n>, &BodyNote>) -> Batch<'n> {
    names(notes)
        .column("id", notes.values().map(|note| uuid_of(note.id)))
        .column("until", notes.values().map(|note| note.until.as_micros()))
}

/// Flags events that are still stored.
async fn flag(session: &Session, mut later: BTreeMap<(i16, Uuid), Uuid>) -> Result<(), Failure> {
    let mut stored: BTreeSet<Uuid> = BTreeSet::new();
    for row in &session.over(STORED, &ids(&later)).await? {
        stored.insert(row.try_get(0)?);
    }
    later.retain(|(_, id), _| stored.contains(id));
    write_flags(session, &later).await
}

async fn write_flags(session: &Session, flags: &BTreeMap<(i16, Uuid), Uuid>) -> Result<(), Failure> {
    let rows = ids(flags).column("earlier", flags.values().copied());
    session.write(FLAG, &rows).await
}

fn ids(flags: &BTreeMap<(i16, Uuid), Uuid>) -> Batch<'static> {
    Batch::in_buckets(flags.keys().map(|(bucket, _)| *bucket)).column("id", flags.keys().map(|(_, id)| *id))
}

/// A body's bucket, scope and hash.
type Name<'n> = (i16, &'n str, &'n [u8]);

fn name(note: &BodyNote) -> Name<'_> {
    bucket(&note.scope, &note.raw_hash)
}

fn bucket<'n>(scope: &'n Scope, hash: &'n BodyHash) -> Name<'n> {
    let (scope, hash) = (scope.as_str(), &hash.as_bytes()[..]);
    (bucket_by(&[scope.as_bytes(), hash]), scope, hash)
}
