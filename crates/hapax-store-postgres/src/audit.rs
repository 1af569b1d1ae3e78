//! The audit trail: who did what, newest first, each entry chained to the previous one.

use hapax_core::Timestamp;
use hapax_core::store::{AUDIT_KEEP, AuditEntry, AuditHead, AuditLink, AuditRecord, Cursor, expired_audit};
use tokio_postgres::Row;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::rows::time_at;
use crate::session::Session;

/// The maximum number of entries per page.
const PAGE_MAX: u32 = 1_000;

const INSERT: &str = "
    INSERT INTO hapax.audit (no, at, who, action, subject, detail, link)
    VALUES ($1::int8, $2::int8, $3::text, $4::text, $5::text, $6::text, $7::bytea)";

const SELECT: &str = "
    SELECT no, at, who, action, subject, detail, link FROM hapax.audit
    WHERE no < $1::int8 ORDER BY no DESC LIMIT $2::int8";

const HEAD: &str = "SELECT place FROM hapax.audit_head";

// Creates the row if it is missing, and locks it.
const LOCK_HEAD: &str = "
    INSERT INTO hapax.audit_head (one, place) VALUES (true, ''::bytea)
    ON CONFLICT (one) DO UPDATE SET one = excluded.one RETURNING place";

const PUT_HEAD: &str = "UPDATE hapax.audit_head SET place = $1::bytea";

const OLDEST: &str = "SELECT no, at, link FROM hapax.audit ORDER BY no LIMIT $1::int8";

const DELETE: &str = "DELETE FROM hapax.audit WHERE no = ANY ($1::int8[])";

/// Appends an entry. Concurrent writers wait for the head's row; the number is drawn under that lock, so that pages
/// have the order of the chain.
pub(crate) async fn record(session: &Session, entry: &AuditEntry) -> Result<AuditLink, Failure> {
    session.begin().await?;
    let head = read_head(session, LOCK_HEAD).await?;
    let (now, mut numbers) = session.take(1).await?;
    let link = head.followed_by(now, entry);
    session
        .execute(
            INSERT,
            bind![
                numbers.next()?,
                now.as_micros(),
                entry.who.as_str(),
                entry.action.as_str(),
                entry.subject.as_str(),
                entry.detail.as_str(),
                link.to_bytes(),
            ],
        )
        .await?;
    put_head(session, link.head).await?;
    session.commit().await?;
    Ok(link)
}

/// The last entry of the chain.
pub(crate) async fn head(session: &Session) -> Result<AuditHead, Failure> {
    read_head(session, HEAD).await
}

/// A damaged head does not stop the store: the chain begins again, and verification reports the break there.
async fn read_head(session: &Session, sql: &'static str) -> Result<AuditHead, Failure> {
    let rows = session.rows(sql, &[]).await?;
    let place: Option<&[u8]> = rows.first().map(|row| row.try_get(0)).transpose()?;
    Ok(place.and_then(AuditHead::from_bytes).unwrap_or_default())
}

async fn put_head(session: &Session, head: AuditHead) -> Result<(), Failure> {
    session.execute(PUT_HEAD, bind![head.to_bytes().to_vec()]).await?;
    Ok(())
}

/// Moves the head to the last of some entries that belong to another store's chain.
pub(crate) async fn import(session: &Session, links: &[AuditLink]) -> Result<(), Failure> {
    let Some(last) = links.last() else {
        return Ok(());
    };
    if last.head.seq > read_head(session, LOCK_HEAD).await?.seq {
        put_head(session, last.head).await?;
    }
    Ok(())
}

/// Examines the `limit` oldest entries and deletes the expired ones. Returns whether there may be more.
pub(crate) async fn purge(session: &Session, now: Timestamp, limit: i64) -> Result<bool, Failure> {
    // One expired entry may stay.
    let rows = session.rows(OLDEST, bind![limit + 1]).await?;
    let mut oldest = Vec::with_capacity(rows.len());
    for row in &rows {
        oldest.push((row.try_get::<_, i64>(0)?, time_at(row, 1)?, link_at(row, 2)?));
    }
    let expired: Column<i64> = Column(expired_audit(oldest, now.minus(AUDIT_KEEP)));
    let deleted = expired.0.len() as i64;
    if deleted > 0 {
        session.execute(DELETE, bind![expired]).await?;
    }
    Ok(deleted >= limit)
}

/// The link of an entry. A malformed link was tampered with: the entry then belongs to no chain, and verification
/// reports it as missing.
pub(crate) fn link_at(row: &Row, column: usize) -> Result<Option<AuditLink>, Failure> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(bytes.and_then(AuditLink::from_bytes))
}

pub(crate) async fn audit(
    session: &Session,
    (after, limit): &(Option<Cursor>, u32),
) -> Result<(Vec<AuditRecord>, Option<Cursor>), Failure> {
    let limit = (*limit).min(PAGE_MAX) as usize;
    let before = after.map_or(i64::MAX, |Cursor(number)| {
        i64::try_from(number).unwrap_or(i64::MAX)
    });
    let rows = session.rows(SELECT, bind![before, limit as i64 + 1]).await?;
    let mut records = Vec::with_capacity(rows.len());
    let mut last = None;
    for row in rows.iter().take(limit) {
        records.push(AuditRecord {
            at: time_at(row, 1)?,
            entry: AuditEntry {
                who: row.try_get(2)?,
                action: row.try_get(3)?,
                subject: row.try_get(4)?,
                detail: row.try_get(5)?,
            },
            link: link_at(row, 6)?,
        });
        last = Some(Cursor(row.try_get::<_, i64>(0)? as u64));
    }
    Ok((records, last.filter(|_| rows.len() > limit)))
}
