//! The audit trail: who did what, newest first, each entry chained to the previous one. In the first shard, by number.

use hapax_core::store::{
    AUDIT_KEEP, AuditEntry, AuditHead, AuditLink, AuditNumbered, AuditRecord, Cursor, expired_audit,
};

use crate::failure::Failure;
use crate::link::Link;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX, Room, Snapshot};
use crate::{json, reply};

/// Entries by number.
pub(crate) const TRAIL: &str = "A";
/// The chain, and its last entry.
const CHAIN: &str = "E";
const HEAD: &str = "head";
/// The maximum number of entries per page.
const PAGE_MAX: u32 = 1_000;
/// Entries that one call of `purge` examines.
const PURGED_MAX: u32 = 1_000;

/// Appends an entry if the head is unchanged; otherwise tries again.
pub(crate) async fn record(link: &Link, entry: AuditEntry) -> Result<AuditLink, Failure> {
    for _ in 0..ROUNDS_MAX {
        let mut snapshot = link.read_and_take(HOME, vec![get_head()], 1).await?;
        let (head, read) = read_head(&mut snapshot)?;
        let chained = head.followed_by(snapshot.now, &entry);
        let mut change = Change::default().when(CHAIN, HEAD, read);
        change.then(keep(&AuditNumbered {
            number: snapshot.numbers.at(0),
            record: AuditRecord {
                at: snapshot.now,
                entry: entry.clone(),
                link: Some(chained),
            },
        })?);
        change.then(put_head(chained.head));
        if link.apply_one(HOME, change).await? == Made::Yes {
            return Ok(chained);
        }
    }
    Err(Failure::Contended)
}

/// The last entry of the chain.
pub(crate) async fn head(link: &Link) -> Result<AuditHead, Failure> {
    let mut snapshot = link.read(HOME, vec![get_head()]).await?;
    Ok(read_head(&mut snapshot)?.0)
}

fn get_head() -> Command {
    Command::new("HGET", CHAIN).arg(HEAD)
}

/// The head, and the bytes that were read. A damaged head does not stop the store: the chain begins again, and
/// verification reports the break there.
fn read_head(snapshot: &mut Snapshot) -> Result<(AuditHead, Vec<u8>), Failure> {
    let bytes = reply::optional_bytes(snapshot.next()?)?.unwrap_or_default();
    Ok((AuditHead::from_bytes(&bytes).unwrap_or_default(), bytes))
}

fn put_head(head: AuditHead) -> Command {
    Command::new("HSET", CHAIN).arg(HEAD).arg(head.to_bytes())
}

/// Imports an entry, which may belong to another store's chain.
pub(crate) async fn import(link: &Link, entry: &AuditNumbered) -> Result<(), Failure> {
    let mut change = Change::default();
    change.then(keep(entry)?);
    if let Some(chained) = entry.record.link
        && chained.head.seq > head(link).await?.seq
    {
        change.then(put_head(chained.head));
    }
    link.apply(HOME, &[change], Room::Needed).await?;
    Ok(())
}

/// The command that stores an entry.
pub(crate) fn keep(entry: &AuditNumbered) -> Result<Command, Failure> {
    let member = json::write(&(entry.number, &entry.record))?;
    Ok(Command::new("ZADD", TRAIL).number(entry.number).arg(member))
}

/// Decodes a stored entry.
pub(crate) fn read(member: &[u8]) -> Result<AuditNumbered, Failure> {
    let (number, record) = json::read(member, "an entry of the audit trail")?;
    Ok(AuditNumbered { number, record })
}

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

/// Deletes the oldest entries once they have expired.
pub(crate) async fn purge(link: &Link) -> Result<(), Failure> {
    let command = Command::new("ZRANGE", TRAIL).number(0).number(PURGED_MAX - 1);
    let mut snapshot = link.read(HOME, vec![command]).await?;
    let mut oldest = Vec::new();
    for member in reply::list(snapshot.next()?)? {
        let member = reply::bytes(member)?;
        let record = read(&member)?.record;
        oldest.push((member, record.at, record.link));
    }
    let mut change = Change::default();
    for member in expired_audit(oldest, snapshot.now.minus(AUDIT_KEEP)) {
        change.then(Command::new("ZREM", TRAIL).arg(member));
    }
    if !change.is_empty() {
        link.apply_one(HOME, change).await?;
    }
    Ok(())
}
