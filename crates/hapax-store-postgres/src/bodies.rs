//! Bodies whose sender does not sign the id: the same body under another id is flagged. Names that are bound to a body
//! are kept with them.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::store::{Binding, BodyNote};
use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::rows::{bucket_by, bucket_of, uuid_of};
use crate::session::Session;

const INSERT: &str = "
    INSERT INTO hapax.bodies {sorted rows} ON CONFLICT (bucket, scope, raw_hash) DO NOTHING";

const FIRST: &str = "
    SELECT b.scope, b.raw_hash, b.id
    FROM {n} JOIN hapax.bodies b ON b.bucket = {bucket} AND b.scope = n.scope AND b.raw_hash = n.raw_hash";

const STORED: &str = "SELECT e.id FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id";

const FLAG: &str = "INSERT INTO hapax.same_body {sorted rows} ON CONFLICT (bucket, id) DO NOTHING";

/// Remembers the first event of each body and flags the later ones.
pub(crate) async fn note_bodies(session: &Session, notes: &[BodyNote]) -> Result<(), Failure> {
    if notes.is_empty() {
        return Ok(());
    }
    // Of two in one call, the first is the earlier. In one order for everybody.
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

/// Whether a name is bound to this body, by now at the latest. Of two at once, the second waits for the first's commit.
pub(crate) async fn bind(session: &Session, binding: &Binding) -> Result<bool, Failure> {
    let note = binding.note();
    session.begin().await?;
    let known = keep(session, &BTreeMap::from([(name(&note), &note)])).await?;
    session.commit().await?;
    Ok(known.into_values().next() == Some(uuid_of(note.id)))
}

/// Keeps the notes of bodies that are not known yet; for each body the id that is kept.
async fn keep(
    session: &Session,
    notes: &BTreeMap<Name<'_>, &BodyNote>,
) -> Result<BTreeMap<(String, Vec<u8>), Uuid>, Failure> {
    let names = || {
        Batch::in_buckets(notes.keys().map(|(bucket, ..)| *bucket))
            .column("scope", notes.keys().map(|(_, scope, _)| *scope))
            .column("raw_hash", notes.keys().map(|(.., hash)| *hash))
    };
    let bodies = names()
        .column("id", notes.values().map(|note| uuid_of(note.id)))
        .column("until", notes.values().map(|note| note.until.as_micros()));
    session.write(INSERT, &bodies).await?;
    let mut known = BTreeMap::new();
    for row in &session.over(FIRST, &names()).await? {
        known.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    Ok(known)
}

/// Flags events that are still stored.
async fn flag(session: &Session, mut later: BTreeMap<(i16, Uuid), Uuid>) -> Result<(), Failure> {
    let ids = |later: &BTreeMap<(i16, Uuid), Uuid>| {
        Batch::in_buckets(later.keys().map(|(bucket, _)| *bucket))
            .column("id", later.keys().map(|(_, id)| *id).collect::<Vec<_>>())
    };
    let mut stored: BTreeSet<Uuid> = BTreeSet::new();
    for row in &session.over(STORED, &ids(&later)).await? {
        stored.insert(row.try_get(0)?);
    }
    later.retain(|(_, id), _| stored.contains(id));
    let flags = ids(&later).column("earlier", later.values().copied());
    session.write(FLAG, &flags).await
}

/// A body's bucket, scope and hash.
type Name<'n> = (i16, &'n str, &'n [u8]);

fn name(note: &BodyNote) -> Name<'_> {
    let (scope, hash) = (note.scope.as_str(), &note.raw_hash.as_bytes()[..]);
    (bucket_by(&[scope.as_bytes(), hash]), scope, hash)
}
