//! Pages of identities, by key: bounded in records, and in bytes before they are read.

use std::sync::Arc;

use futures_util::future::try_join_all;
use hapax_core::Key;
use hapax_core::store::{MigrationCursor, MigrationPage, PAGE_BYTES_MAX, Record};

use super::export;
use super::walk::{Line, Walk};
use crate::failure::Failure;
use crate::identity::event_key;
use crate::lanes;
use crate::link::{Link, on_each};
use crate::shards::Shard;
use crate::snapshot::Command;
use crate::{reply, spread};

/// Identities that are read at once, if they are not too large.
const AT_ONCE: usize = 200;

/// The page after a key.
pub(super) async fn page(
    link: &Arc<Link>,
    after: Option<Key>,
    limit: usize,
) -> Result<MigrationPage, Failure> {
    if after.is_none() {
        // A delivery that is still joining a lane has no position to export.
        on_each(
            link,
            |link, shard| async move { lanes::take_all(&link, shard).await },
        )
        .await?;
    }
    let mut walk = Walk::after(after);
    let mut lines = walk.next(link, limit).await?;
    let is_end = lines.len() < limit;
    lines.truncate(limit);
    let records = read(link, &lines).await?;
    let is_cut = records.len() < lines.len();
    let next = match records.last() {
        Some((key, _)) if is_cut || !is_end => MigrationCursor::Identities(Some(*key)),
        Some(_) | None => MigrationCursor::Bodies(None),
    };
    Ok(MigrationPage {
        records: records.into_iter().map(|(_, record)| record).collect(),
        next: Some(next),
    })
}

/// The identities up to the one that fills the page.
async fn read(link: &Link, lines: &[Line]) -> Result<Vec<(Key, Record)>, Failure> {
    let mut records = Vec::with_capacity(lines.len());
    let mut bytes = 0;
    let mut rest = lines;
    while !rest.is_empty() && bytes <= PAGE_BYTES_MAX {
        let some = &rest[..rest.len().min(AT_ONCE)];
        let room = (PAGE_BYTES_MAX - bytes) as u64;
        let some = &some[..fitting(&sizes(link, some).await?, room)];
        for (line, record) in some.iter().zip(export::records(link, some).await?) {
            if bytes > PAGE_BYTES_MAX {
                return Ok(records);
            }
            let record = Record::Identity(Box::new(record));
            bytes += record.payload_bytes();
            records.push((line.key, record));
        }
        rest = &rest[some.len()..];
    }
    Ok(records)
}

/// How many of the first fill a page, including the one that makes it full.
fn fitting(sizes: &[u64], room: u64) -> usize {
    let mut bytes = 0;
    for (place, size) in sizes.iter().enumerate() {
        bytes += size;
        if bytes > room {
            return place + 1;
        }
    }
    sizes.len()
}

/// The size of the payloads of identities, without conflicts.
async fn sizes(link: &Link, lines: &[Line]) -> Result<Vec<u64>, Failure> {
    let places: Vec<usize> = (0..lines.len()).collect();
    let by_shard = spread::by_shard(places, |place| lines[*place].shard);
    let calls = by_shard
        .into_iter()
        .map(|(shard, places)| shard_sizes(link, shard, lines, places));
    let mut sizes = vec![0; lines.len()];
    for (place, size) in try_join_all(calls).await?.into_iter().flatten() {
        sizes[place] = size;
    }
    Ok(sizes)
}

async fn shard_sizes(
    link: &Link,
    shard: Shard,
    lines: &[Line],
    places: Vec<(usize, usize)>,
) -> Result<Vec<(usize, u64)>, Failure> {
    let events = places.iter().flat_map(|(_, place)| &lines[*place].events);
    let commands = events.map(|id| Command::new("HSTRLEN", event_key(*id)).arg("b"));
    let mut snapshot = link.read(shard, commands.collect()).await?;
    let mut sizes = Vec::with_capacity(places.len());
    for (_, place) in places {
        let mut size = 0;
        for _ in &lines[place].events {
            size += reply::number(snapshot.next()?)?;
        }
        sizes.push((place, size));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_with_the_identity_that_makes_it_full() {
        assert_eq!(fitting(&[4, 4, 4], 7), 2);
        assert_eq!(fitting(&[4, 4, 4], 8), 3);
        assert_eq!(fitting(&[9], 8), 1);
        assert_eq!(fitting(&[], 8), 0);
    }
}
