//! Indexed body fields: which fields a source has declared, since when, and the values of its events.

use std::collections::BTreeMap;

use hapax_core::Timestamp;
use hapax_core::store::{IndexedField, IndexedValue};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// Replaces the declared fields. Returns since when each is indexed.
pub(crate) fn declare(
    desk: &mut Desk<'_>,
    fields: &[IndexedField],
) -> Result<Vec<(IndexedField, Timestamp)>, Failure> {
    let known = known(desk)?;
    let now = desk.now();
    desk.connection
        .prepare_cached("DELETE FROM indexed_fields")?
        .execute([])?;
    let mut insert = desk.connection.prepare_cached(
        "INSERT OR REPLACE INTO indexed_fields (source, pointer, since) VALUES (?1, ?2, ?3)",
    )?;
    let mut declared = Vec::with_capacity(fields.len());
    for field in fields {
        let since = known.get(field).copied().unwrap_or(now);
        insert.execute((field.source.as_str(), &field.pointer, since.as_micros()))?;
        declared.push((field.clone(), since));
    }
    Ok(declared)
}

/// Stores the values of the event in row `seq`; there are none if the source declares no fields.
pub(crate) fn insert(desk: &mut Desk<'_>, seq: i64, values: &[IndexedValue]) -> Result<(), Failure> {
    for value in values {
        let pointer = desk.intern(&value.pointer)?;
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO indexed (pointer, digest, seq) VALUES (?1, ?2, ?3)")?
            .execute((pointer, value.digest, seq))?;
    }
    Ok(())
}

/// The values of the event in row `seq`.
pub(crate) fn values(desk: &mut ReadDesk, seq: i64) -> Result<Vec<IndexedValue>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT pointer, digest FROM indexed INDEXED BY indexed_seq WHERE seq = ?1")?;
    let mut rows = select.query([seq])?;
    let mut values = Vec::new();
    while let Some(row) = rows.next()? {
        let named = desk.names.named(&desk.connection, row.get(0)?)?;
        values.push(IndexedValue {
            pointer: named.scope.as_str().to_owned(),
            digest: row.get(1)?,
        });
    }
    values.sort_unstable();
    Ok(values)
}

fn known(desk: &Desk<'_>) -> Result<BTreeMap<IndexedField, Timestamp>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT source, pointer, since FROM indexed_fields")?;
    let mut rows = select.query([])?;
    let mut known = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let field = IndexedField {
            source: row.get::<_, String>(0)?.into(),
            pointer: row.get(1)?,
        };
        known.insert(field, time_at(row, 2)?);
    }
    Ok(known)
}
