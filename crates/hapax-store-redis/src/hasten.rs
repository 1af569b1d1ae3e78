//! Hasten: makes the retrying deliveries of an event due now.

use hapax_core::{DeliveryState, DestinationId, EventId};

use crate::failure::Failure;
use crate::identity::{event_key, rows};
use crate::link::Link;
use crate::packed;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX};
use crate::work::Work;

pub(crate) async fn hasten(link: &Link, id: EventId) -> Result<u32, Failure> {
    let shard = link.shards().of_event(id);
    for _ in 0..ROUNDS_MAX {
        let Some(row) = rows(link, shard, &[id]).await?.pop() else {
            return Ok(0);
        };
        let retrying: Vec<(&DestinationId, &Work)> = row
            .work
            .iter()
            .filter(|(_, work)| work.state() == DeliveryState::Retrying && work.due.is_some())
            .collect();
        if retrying.is_empty() {
            return Ok(0);
        }
        let snapshot = link.read_and_take(shard, Vec::new(), 1).await?;
        let now = snapshot.now.as_micros();
        let mut change = Change::default().when(event_key(id), "v", row.version.clone());
        for (to, work) in &retrying {
            let mut hastened = (*work).clone();
            hastened.due = work.due.map(|due| due.min(now));
            let due = hastened.due.unwrap_or(now);
            change.then(
                Command::new("ZADD", format!("{}{to}", work.queue()))
                    .number(due)
                    .arg(*id.as_bytes()),
            );
            change.then(
                Command::new("HSET", event_key(id))
                    .arg(format!("w{to}"))
                    .arg(packed::pack(&hastened)?),
            );
        }
        change.then(
            Command::new("HSET", event_key(id))
                .arg("v")
                .number(snapshot.numbers.at(0)),
        );
        if link.apply_one(shard, change).await? == Made::Yes {
            return Ok(retrying.len() as u32);
        }
    }
    Err(Failure::Contended)
}
