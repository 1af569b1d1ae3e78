//! The audit trail: who did what, newest first, each entry chained to the one before.

use hapax_core::Timestamp;
use hapax_core::store::{AuditChain, AuditEntry, AuditHead, AuditLink, AuditRecord, Cursor};
use tokio_postgres::Row;

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::time_at;
use crate::session::Session;

/// Entries on one page at most.
const PAGE_MAX: u32 = 1_000;

const INSERT: &str = "
    INSERT INTO hapax.audit (no, at, who, action, subject, detail, link)
    VALUES ($1::int8, $2::int8, $3::text, $4::text, $5::text, $6::text, $7::bytea)";

const SELECT: &str = "
    SELECT no, at, who, action, subject, detail, link FROM hapax.audit
    WHERE no < $1::int8 ORDER BY no DESC LIMIT $2::int8";

// Makes the rows where they are not there yet, and holds them.
const LOCK: &str = "
    INSERT INTO hapax.audit_ends (name) VALUES ('cut'), ('head')
    ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING name, place";

const ENDS: &str = "SELECT name, place FROM hapax.audit_ends";

const PUT_END: &str = "UPDATE hapax.audit_ends SET place = $2::bytea WHERE name = $1::text";

const OLDEST: &str = "SELECT no, at, link FROM hapax.audit ORDER BY no LIMIT $1::int8";

const DELETE: &str = "DELETE FROM hapax.audit WHERE no <= $1::int8";

/// The names of the chain's ends.
const HEAD: &str = "head";
const CUT: &str = "cut";

/// Writes an entry behind the last one. Whoever else wants to waits for the row of the head; the number is drawn under
/// it, so that pages have the order of the chain.
pub(crate) async fn record(session: &Session, entry: &AuditEntry) -> Result<AuditLink, Failure> {
    session.begin().await?;
    let chain = ends(session, LOCK).await?;
    let (now, mut numbers) = session.take(1).await?;
    let link = chain.head.followed_by(now, entry);
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
    put_end(session, HEAD, link.head).await?;
    session.commit().await?;
    Ok(link)
}

/// The ends of the chain.
pub(crate) async fn chain(session: &Session) -> Result<AuditChain, Failure> {
    ends(session, ENDS).await
}

async fn ends(session: &Session, sql: &'static str) -> Result<AuditChain, Failure> {
    let mut chain = AuditChain::default();
    for row in &session.rows(sql, &[]).await? {
        let place: Option<&[u8]> = row.try_get(1)?;
        let place = place.and_then(AuditHead::from_bytes).unwrap_or_default();
        match row.try_get(0)? {
            HEAD => chain.head = place,
            CUT => chain.cut = place,
            other => {
                return Err(Failure::Unreadable(format!(
                    "the audit trail has an end `{other}`, which nobody knows"
                )));
            }
        }
    }
    Ok(chain)
}

async fn put_end(session: &Session, name: &str, place: AuditHead) -> Result<(), Failure> {
    session
        .execute(PUT_END, bind![name, place.to_bytes().to_vec()])
        .await?;
    Ok(())
}

/// Takes entries in that hang in the chain of another store, in their order.
pub(crate) async fn take_in(session: &Session, links: &[AuditLink]) -> Result<(), Failure> {
    let (Some(first), Some(last)) = (links.first(), links.last()) else {
        return Ok(());
    };
    let chain = ends(session, LOCK).await?;
    if chain.head == AuditHead::default() {
        put_end(session, CUT, first.before()).await?;
    }
    if last.head.seq > chain.head.seq {
        put_end(session, HEAD, last.head).await?;
    }
    Ok(())
}

/// Deletes the oldest entries, at most `limit`, that are from before a moment, and notes where the chain begins then; how
/// many went.
pub(crate) async fn purge(session: &Session, before: Timestamp, limit: i64) -> Result<usize, Failure> {
    let rows = session.rows(OLDEST, bind![limit]).await?;
    let (mut deleted, mut last, mut cut) = (0, None, None);
    for row in &rows {
        if time_at(row, 1)? >= before {
            break;
        }
        deleted += 1;
        last = Some(row.try_get::<_, i64>(0)?);
        cut = link_at(row, 2)?.map(|link| link.head).or(cut);
    }
    let Some(last) = last else { return Ok(0) };
    if let Some(cut) = cut {
        // Under the lock: of two replicas that purge at once, the one that comes later may have seen less.
        if ends(session, LOCK).await?.cut.seq < cut.seq {
            put_end(session, CUT, cut).await?;
        }
    }
    session.execute(DELETE, bind![last]).await?;
    Ok(deleted)
}

/// The link of an entry. One that is none was tampered with: then the entry hangs in no chain, and is missed there.
pub(crate) fn link_at(row: &Row, column: usize) -> Result<Option<AuditLink>, Failure> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(bytes.and_then(AuditLink::from_bytes))
}

/// Reads a page.
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
