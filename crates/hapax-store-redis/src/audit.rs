//! The audit trail: who did what, newest first. In the first shard, by number.

use std::time::Duration;

use hapax_core::store::{AuditEntry, AuditNumbered, AuditRecord, Cursor};

use crate::failure::Failure;
use crate::link::Link;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Room};
use crate::{json, reply};

/// Entries by number.
pub(crate) const TRAIL: &str = "A";
/// Entries on one page at most.
const PAGE_MAX: u32 = 1_000;
/// Entries that one call of `purge` looks at.
const PURGED_MAX: u32 = 1_000;

/// Writes an entry.
pub(crate) async fn record(link: &Link, entry: AuditEntry) -> Result<(), Failure> {
    let snapshot = link.read_and_take(HOME, Vec::new(), 1).await?;
    let at = snapshot.now;
    let mut change = Change::default();
    change.then(keep(&AuditNumbered {
        number: snapshot.number,
        record: AuditRecord { at, entry },
    })?);
    link.apply(HOME, &[change], Room::Needed).await?;
    Ok(())
}

/// What keeps an entry.
pub(crate) fn keep(entry: &AuditNumbered) -> Result<Command, Failure> {
    let member = json::write(&(entry.number, &entry.record))?;
    Ok(Command::new("ZADD", TRAIL).number(entry.number).arg(member))
}

/// An entry as it is kept.
pub(crate) fn read(member: &[u8]) -> Result<AuditNumbered, Failure> {
    let (number, record) = json::read(member, "an entry of the audit trail")?;
    Ok(AuditNumbered { number, record })
}

/// Reads a page.
pub(crate) async fn audit(
    link: &Link,
    after: Option<Cursor>,
    limit: u32,
) -> Result<(Vec<AuditRecord>, Option<Cursor>), Failure> {
    let limit = limit.min(PAGE_MAX) as usize;
    let before = after.map_or_else(|| "+inf".to_owned(), |Cursor(number)| format!("({number}"));
    let command = Command::new("ZREVRANGEBYSCORE", TRAIL)
        .arg(before)
        .arg("-inf")
        .arg("LIMIT")
        .number(0)
        .number(limit + 1);
    let members = reply::list(link.read(HOME, vec![command]).await?.next()?)?;
    let is_last = members.len() <= limit;
    let mut records = Vec::with_capacity(limit);
    let mut last = None;
    for member in members.into_iter().take(limit) {
        let entry = read(&reply::bytes(member)?)?;
        last = Some(Cursor(entry.number));
        records.push(entry.record);
    }
    Ok((records, last.filter(|_| !is_last)))
}

/// Deletes the oldest entries that were kept for long enough.
pub(crate) async fn purge(link: &Link, keep_for: Duration) -> Result<(), Failure> {
    let command = Command::new("ZRANGE", TRAIL).number(0).number(PURGED_MAX - 1);
    let mut snapshot = link.read(HOME, vec![command]).await?;
    let before = snapshot.now.minus(keep_for);
    let mut change = Change::default();
    for member in reply::list(snapshot.next()?)? {
        let member = reply::bytes(member)?;
        if read(&member)?.record.at < before {
            change.then(Command::new("ZREM", TRAIL).arg(member));
        }
    }
    if !change.is_empty() {
        link.apply_one(HOME, change).await?;
    }
    Ok(())
}
