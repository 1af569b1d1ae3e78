//! Events with a rare property, recorded separately so that a list finds them among a million others.

use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::session::Session;

const IDS: &str = "
    SELECT l.bucket, l.id FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key
    UNION
    SELECT r.bucket, r.id FROM {n} JOIN hapax.earlier r ON r.bucket = {bucket} AND r.key = n.key";

const STORED: &str = "
    SELECT e.bucket, e.id, e.no FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id";

const WITH_DUPLICATES: &str = "
    SELECT d.key FROM {n} JOIN hapax.duplicates d ON d.bucket = {bucket} AND d.key = n.key";

const INSERT: &str = "INSERT INTO hapax.noted {sorted rows} ON CONFLICT (bucket, id, what) DO NOTHING";

/// The property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It has duplicates.
    Duplicates,
    /// Another body arrived under the same id.
    Conflict,
}

impl Noted {
    pub(crate) const fn code(self) -> i16 {
        match self {
            Self::Duplicates => 0,
            Self::Conflict => 1,
        }
    }
}

/// Records the property for those of these events that are stored.
pub(crate) async fn note(session: &Session, what: Noted, events: &[(i16, Uuid)]) -> Result<(), Failure> {
    let mut stored: Vec<(i16, Uuid, i64)> = Vec::new();
    for row in &session.over(STORED, &named("id", events)).await? {
        stored.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    }
    // A global order: two transactions that mark the same events do not deadlock.
    stored.sort_unstable();
    let batch = Batch::in_buckets(stored.iter().map(|(bucket, ..)| *bucket))
        .column("id", stored.iter().map(|(_, id, _)| *id))
        .same("what", what.code())
        .column("no", stored.iter().map(|(.., no)| *no));
    session.write(INSERT, &batch).await
}

/// Records duplicates for every stored event of these identities, because the tally is shared by all of them.
pub(crate) async fn note_duplicates(session: &Session, keys: &[(i16, Uuid)]) -> Result<(), Failure> {
    let mut events: Vec<(i16, Uuid)> = Vec::new();
    for row in &session.over(IDS, &named("key", keys)).await? {
        events.push((row.try_get(0)?, row.try_get(1)?));
    }
    note(session, Noted::Duplicates, &events).await
}

/// The subset of these identities that have duplicates.
pub(crate) async fn with_duplicates(session: &Session, keys: &[(i16, Uuid)]) -> Result<Vec<Uuid>, Failure> {
    let rows = session.over(WITH_DUPLICATES, &named("key", keys)).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

fn named<'n>(column: &'static str, rows: &'n [(i16, Uuid)]) -> Batch<'n> {
    Batch::in_buckets(rows.iter().map(|(bucket, _)| *bucket))
        .column(column, rows.iter().map(|(_, name)| *name))
}
