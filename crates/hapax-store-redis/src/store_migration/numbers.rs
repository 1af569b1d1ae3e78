//! Numbers of another store: every later token, position and order is greater than every imported one.
//!
//! Scripts count in floating point, exact up to 2^53. Our numbers are microseconds since 1970 and stay below that for a
//! long time. Other stores count from one, or from the position of the store that they were migrated from: also in
//! microseconds. A store may report numbers greater than those in its records, so the records count.

use std::sync::Arc;

use hapax_core::store::{InLane, Record};

use crate::failure::Failure;
use crate::link::{Link, on_each};

/// The greatest number that is imported: later ones still have room.
const NUMBER_MAX: u64 = 1 << 52;

/// Moves the numbers of all shards past `number`, if that is possible at all.
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
                "{} has a number that is greater than 2^52, the greatest that a store on Redis can hold: the source \
                 store was itself migrated from one with such numbers",
                record.name()
            )));
        }
    }
    match records.iter().map(greatest).max() {
        None | Some(0) => Ok(()),
        Some(number) => pass(link, number).await,
    }
}

/// The greatest token, position or order of a record.
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
