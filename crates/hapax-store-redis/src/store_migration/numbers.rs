//! Numbers of another store: every token, place and order that comes later is greater than every one taken in.
//!
//! Scripts count in floating point, whole up to 2^53. Ours are microseconds since 1970 and stay below that for a long
//! time. Others count from one, or from where the store stood that they were copied from: also in microseconds. A store
//! may say of itself that its numbers are greater than those that its records have, so the records are what counts.

use std::sync::Arc;

use hapax_core::store::{InLane, Record};

use crate::failure::Failure;
use crate::link::{Link, on_each};

/// The greatest number that is taken in: later ones still have room.
const NUMBER_MAX: u64 = 1 << 52;

/// Moves the numbers of all shards past one, if that is possible at all.
pub(super) async fn pass(link: &Arc<Link>, number: u64) -> Result<(), Failure> {
    if number > NUMBER_MAX {
        return Ok(());
    }
    link.seen(number);
    on_each(link, |link, shard| async move {
        link.read_and_take(shard, Vec::new(), 1).await
    })
    .await?;
    Ok(())
}

/// Moves the numbers of all shards past those of some records.
pub(super) async fn pass_those_of(link: &Arc<Link>, records: &[Record]) -> Result<(), Failure> {
    for record in records {
        if greatest(record) > NUMBER_MAX {
            return Err(Failure::Rejected(format!(
                "{} has a number that is greater than 2^52, the greatest that a store on Redis can hold: the store \
                 that it comes from was itself copied from one with such numbers",
                record.name()
            )));
        }
    }
    match records.iter().map(greatest).max() {
        None | Some(0) => Ok(()),
        Some(number) => pass(link, number).await,
    }
}

/// The greatest token, place or order of a record.
fn greatest(record: &Record) -> u64 {
    match record {
        Record::Identity(identity) => {
            let place = |lane: &Option<InLane>| lane.as_ref().map_or(0, |lane| lane.place);
            let work = identity.events.iter().flat_map(|event| &event.work);
            let work = work.map(|work| work.token.0.max(place(&work.lane)));
            let outcomes = identity.events.iter().flat_map(|event| &event.outcomes);
            let outcomes = outcomes.map(|outcome| {
                let order = outcome.finished_order.max(place(&outcome.lane));
                outcome.token.0.max(order)
            });
            work.chain(outcomes).max().unwrap_or(0)
        }
        Record::Audit(entry) => entry.number,
        Record::Body(_) | Record::Pause(_) | Record::Job(_) => 0,
    }
}
