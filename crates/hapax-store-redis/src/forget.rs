//! Forget: lets an identity be accepted again.

use hapax_core::Key;
use hapax_core::store::Forgotten;

use crate::event::EventRow;
use crate::failure::Failure;
use crate::identity::{self, Known};
use crate::ledger::{self, Entry};
use crate::link::Link;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};

pub(crate) async fn forget(link: &Link, key: Key) -> Result<Forgotten, Failure> {
    let shard = link.shards().of_key(key);
    for _ in 0..ROUNDS_MAX {
        let Some(known) = identity::read(link, key)
            .await?
            .filter(|known| !known.entry.is_forgotten)
        else {
            return Ok(Forgotten::NotFound);
        };
        if known.events.iter().any(EventRow::is_unfinished) {
            return Ok(Forgotten::Unfinished);
        }
        let next = known.entry.known.generation.next();
        if link.apply_one(shard, tombstone(key, &known)).await? == Made::Yes {
            return Ok(Forgotten::Done { next });
        }
    }
    Err(Failure::Contended)
}

/// Marks the entry as forgotten, if neither it nor any of its events has changed.
fn tombstone(key: Key, known: &Known) -> Change {
    let ledger = format!("l{}", ledger::bucket(key));
    let mut change = Change::default().when(ledger.clone(), *key.as_bytes(), known.entry.to_bytes());
    for event in &known.events {
        change = change.when(identity::event_key(event.id), "v", event.version.clone());
    }
    let mut entry: Entry = known.entry.clone();
    entry.is_forgotten = true;
    entry.known.generation = entry.known.generation.next();
    change.then(
        Command::new("HSET", ledger)
            .arg(*key.as_bytes())
            .arg(entry.to_bytes()),
    );
    change
}
