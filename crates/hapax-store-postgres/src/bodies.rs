//! Bodies whose sender does not sign the id: the same body under another id is flagged.

use std::collections::BTreeMap;

use hapax_core::store::BodyNote;
use uuid::Uuid;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::rows::{bucket_by, bucket_of, uuid_of};
use crate::session::Session;

const INSERT: &str = "
    INSERT INTO hapax.bodies (bucket, scope, raw_hash, id, until)
    SELECT n.bucket, n.scope, n.raw_hash, n.id, n.until
    FROM unnest($1::int2[], $2::text[], $3::bytea[], $4::uuid[], $5::int8[])
         AS n (bucket, scope, raw_hash, id, until)
    ORDER BY n.bucket, n.scope, n.raw_hash
    ON CONFLICT (bucket, scope, raw_hash) DO NOTHING";

const FIRST: &str = "
    SELECT b.scope, b.raw_hash, b.id
    FROM unnest($1::int2[], $2::text[], $3::bytea[]) AS n (bucket, scope, raw_hash)
    JOIN hapax.bodies b ON b.bucket = n.bucket AND b.scope = n.scope AND b.raw_hash = n.raw_hash";

const FLAG: &str = "
    INSERT INTO hapax.same_body (bucket, id, earlier)
    SELECT e.bucket, e.id, n.earlier
    FROM unnest($1::int2[], $2::uuid[], $3::uuid[]) AS n (bucket, id, earlier)
    JOIN hapax.events e ON e.bucket = n.bucket AND e.id = n.id
    ORDER BY e.bucket, e.id
    ON CONFLICT (bucket, id) DO NOTHING";

/// Remembers the first event of each body and flags the later ones.
pub(crate) async fn note_bodies(session: &Session, notes: &[BodyNote]) -> Result<(), Failure> {
    if notes.is_empty() {
        return Ok(());
    }
    // Of two in one call, the first is the earlier.
    let mut firsts: BTreeMap<(&str, &[u8]), &BodyNote> = BTreeMap::new();
    for note in notes {
        firsts.entry(name(note)).or_insert(note);
    }
    let buckets: Column<i16> = firsts
        .keys()
        .map(|(scope, hash)| bucket_by(&[scope.as_bytes(), hash]))
        .collect();
    let scopes: Column<&str> = firsts.keys().map(|(scope, _)| *scope).collect();
    let hashes: Column<&[u8]> = firsts.keys().map(|(_, hash)| *hash).collect();
    session.begin().await?;
    session
        .execute(
            INSERT,
            bind![
                buckets,
                scopes,
                hashes,
                firsts
                    .values()
                    .map(|note| uuid_of(note.id))
                    .collect::<Column<Uuid>>(),
                firsts
                    .values()
                    .map(|note| note.until.as_micros())
                    .collect::<Column<i64>>(),
            ],
        )
        .await?;
    let mut known: BTreeMap<(String, Vec<u8>), Uuid> = BTreeMap::new();
    for row in &session.rows(FIRST, bind![buckets, scopes, hashes]).await? {
        known.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    let mut later: BTreeMap<(i16, Uuid), Uuid> = BTreeMap::new();
    for note in notes {
        let (scope, hash) = name(note);
        let first = known.get(&(scope.to_owned(), hash.to_vec()));
        if let Some(first) = first.filter(|first| **first != uuid_of(note.id)) {
            later
                .entry((bucket_of(note.id), uuid_of(note.id)))
                .or_insert(*first);
        }
    }
    if !later.is_empty() {
        session
            .execute(
                FLAG,
                bind![
                    later.keys().map(|(bucket, _)| *bucket).collect::<Column<i16>>(),
                    later.keys().map(|(_, id)| *id).collect::<Column<Uuid>>(),
                    later.values().copied().collect::<Column<Uuid>>(),
                ],
            )
            .await?;
    }
    session.commit().await
}

fn name(note: &BodyNote) -> (&str, &[u8]) {
    (note.scope.as_str(), note.raw_hash.as_bytes())
}
