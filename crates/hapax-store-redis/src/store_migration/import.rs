//! Importing records. A record that already exists stays as it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::try_join_all;
use hapax_core::store::{IdentityRecord, JobRecord, MigrationCursor, Pause, Record};

use super::to_changes::{change, places};
use super::{bodies, mark, numbers, scopes};
use crate::failure::{Failure, damaged};
use crate::jobs::{self, JOBS};
use crate::link::Link;
use crate::pauses::{self, PAUSES};
use crate::shards::{HOME, Shard};
use crate::snapshot::{Change, Command, Room};
use crate::{audit, lanes, ledger, reply, spread};

/// Identities that are written in one call.
const AT_ONCE: usize = 100;

/// Imports records, and then stores the progress of the migration: a migration that was interrupted may import records
/// again, which has no effect.
pub(super) async fn import(
    link: &Arc<Link>,
    records: Vec<Record>,
    reached: &MigrationCursor,
) -> Result<(), Failure> {
    let mark = mark::begun(link).await?;
    numbers::pass_those_of(link, &records).await?;
    let mut identities = Vec::new();
    let mut has_pauses = false;
    for record in records {
        match record {
            Record::Identity(identity) => identities.push(*identity),
            Record::Body(note) => bodies::import(link, &note).await?,
            Record::Pause(one) => {
                has_pauses = true;
                pause(link, &one).await?;
            }
            Record::Job(record) => job(link, *record).await?,
            Record::Audit(entry) => audit::import(link, &entry).await?,
        }
    }
    if has_pauses {
        pauses::align_all(link).await?;
    }
    write_identities(link, identities).await?;
    mark::advance(link, mark, reached).await
}

async fn pause(link: &Link, pause: &Pause) -> Result<(), Failure> {
    let mut change = Change::default().when(PAUSES, pause.destination.as_str(), "");
    change.then(pauses::keep(pause)?);
    link.apply(HOME, &[change], Room::Needed).await?;
    Ok(())
}

async fn job(link: &Link, record: JobRecord) -> Result<(), Failure> {
    let id = *record.job.id.0.as_bytes();
    let number = link.read_and_take(HOME, Vec::new(), 1).await?.numbers.at(0);
    let change = jobs::keep(record, number)?.when(JOBS, id, "");
    link.apply(HOME, &[change], Room::Needed).await?;
    Ok(())
}

async fn write_identities(link: &Link, records: Vec<IdentityRecord>) -> Result<(), Failure> {
    let by_shard = spread::by_shard(records, |record| link.shards().of_key(record.key));
    let calls = by_shard
        .into_iter()
        .map(|(shard, records)| write_shard(link, shard, records));
    try_join_all(calls).await?;
    Ok(())
}

async fn write_shard(
    link: &Link,
    shard: Shard,
    records: Vec<(usize, IdentityRecord)>,
) -> Result<(), Failure> {
    let records: Vec<_> = records.into_iter().map(|(_, record)| record).collect();
    let names: BTreeSet<&str> = records.iter().map(|record| record.scope.as_str()).collect();
    let numbers = scopes::numbered(link, shard, &names).await?;
    for records in records.chunks(AT_ONCE) {
        let mut changes = Vec::with_capacity(records.len());
        for record in new(link, shard, records).await? {
            join_lanes(link, record).await?;
            let scope = numbers.get(record.scope.as_str());
            changes.push(change(record, *scope.ok_or_else(|| damaged("a scope"))?)?);
        }
        link.apply(shard, &changes, Room::Needed).await?;
    }
    Ok(())
}

/// The records that do not exist yet. A record is imported in one write: if its entry exists, so does the rest.
async fn new<'r>(
    link: &Link,
    shard: Shard,
    records: &'r [IdentityRecord],
) -> Result<Vec<&'r IdentityRecord>, Failure> {
    let commands = records.iter().map(|record| {
        let hash = format!("l{}", ledger::bucket(record.key));
        Command::new("HEXISTS", hash).arg(*record.key.as_bytes())
    });
    let mut snapshot = link.read(shard, commands.collect()).await?;
    let mut new = Vec::with_capacity(records.len());
    for record in records {
        if reply::number(snapshot.next()?)? == 0 {
            new.push(record);
        }
    }
    Ok(new)
}

async fn join_lanes(link: &Link, record: &IdentityRecord) -> Result<(), Failure> {
    for place in record.events.iter().flat_map(places) {
        lanes::join_at(link, &place).await?;
    }
    Ok(())
}
