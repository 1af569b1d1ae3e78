//! Senders: each event is sent one to five times, at the same moment or later, and each request is retried until its
//! 2xx.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax_core::{Clock as _, Headers, Timestamp};
use hapax_engine::IncomingEvent;

use super::World;
use super::door::{Ack, Heard};
use super::settings::SOURCE;
use crate::random::Dice;
use crate::store::Fate;

/// How long a sender waits for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(4);
/// The longest pause before a sender retries.
const AGAIN_MAX: Duration = Duration::from_secs(2);
/// Percentage of requests that carry another event as well.
const TOGETHER_PERCENT: u64 = 15;
/// Percentage of requests with another body.
const VARIANT_PERCENT: u64 = 3;

/// Percentage of requests that are answered only when the deliveries are done.
const WHEN_DONE_PERCENT: u64 = 15;

/// One event as a sender sends it.
#[derive(Clone, Debug)]
struct Item {
    event: String,
    lane: Option<String>,
    body: String,
}

pub(crate) fn send_all(world: &Arc<World>, dice: &Dice) {
    let lanes = world.settings.lanes;
    let lane_of: Vec<u64> = (0..world.settings.events)
        .map(|_| dice.between(0, lanes))
        .collect();
    for number in 0..world.settings.events {
        let start = dice.time(Duration::ZERO, world.settings.sending);
        for _ in 0..dice.between(1, world.settings.times_max) {
            let mut items = vec![item(number, &lane_of, dice)];
            if dice.chance(TOGETHER_PERCENT) {
                let other = dice.index(lane_of.len()) as u64;
                items.push(item(other, &lane_of, dice));
            }
            let (world_of_task, dice) = (Arc::clone(world), dice.split());
            world.errand(async move {
                let copy_after = copy_delay(&dice);
                world_of_task.executor.sleep(start + copy_after).await;
                deliver(&world_of_task, &items, &dice).await;
            });
        }
    }
}

/// Half of the duplicates arrive at the very same moment.
fn copy_delay(dice: &Dice) -> Duration {
    if dice.chance(50) {
        return dice.time(Duration::ZERO, Duration::from_millis(5));
    }
    dice.time(Duration::ZERO, Duration::from_secs(8))
}

fn item(number: u64, lane_of: &[u64], dice: &Dice) -> Item {
    let lane = lane_of.get(number as usize).copied().unwrap_or_default();
    let body = if dice.chance(VARIANT_PERCENT) {
        "other"
    } else {
        "body"
    };
    Item {
        event: format!("evt_{number}"),
        lane: (lane > 0).then(|| format!("lane_{lane}")),
        body: body.to_owned(),
    }
}

/// Sends until every event of the request was accepted, or done.
async fn deliver(world: &Arc<World>, items: &[Item], dice: &Dice) {
    let when = if dice.chance(WHEN_DONE_PERCENT) {
        Ack::Processed
    } else {
        Ack::Stored
    };
    while send(world, items, when, dice).await != Some(Heard::Success) {
        let pause = dice.time(Duration::from_millis(50), AGAIN_MAX);
        world.executor.sleep(pause).await;
    }
}

/// Sends once, to any replica. Returns nothing if the message, the answer or the replica is lost.
async fn send(world: &Arc<World>, items: &[Item], when: Ack, dice: &Dice) -> Option<Heard> {
    let fate = world.network.fate();
    world.network.travel().await;
    if fate == Fate::Lost {
        world.network.silence().await;
        return None;
    }
    let place = dice.index(world.settings.replicas);
    let now = world.door.at(place)?.clock.now();
    let heard = world.knock(place, arrivals(items, now), when)?;
    if fate == Fate::Twice {
        let _ = world.knock(place, arrivals(items, now), when);
    }
    let heard = tokio::select! {
        biased;
        heard = heard => heard.ok(),
        () = world.executor.sleep(ANSWER_MAX) => None,
    };
    world.network.travel().await;
    heard.filter(|_| fate != Fate::Unanswered)
}

fn arrivals(items: &[Item], received_at: Timestamp) -> Vec<IncomingEvent> {
    let incoming = |item: &Item| IncomingEvent {
        source: SOURCE.into(),
        event_id: item.event.clone(),
        earlier_id: None,
        event_type: None,
        signed_at: None,
        secret_index: Some(0),
        received_at,
        headers: Headers::pack(item.lane.as_deref().map(|lane| ("lane", lane.as_bytes()))),
        body: Bytes::from(item.body.clone()),
        content_hash: None,
        batch: None,
    };
    items.iter().map(incoming).collect()
}
