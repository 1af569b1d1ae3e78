//! Fields of bodies that sources have indexed: which they are, and since when.

use std::collections::BTreeMap;

use hapax_core::Timestamp;
use hapax_core::store::IndexedField;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::rows::time_at;

/// Declares the fields, instead of those before; since when each is indexed.
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
