//! Rescue: takes back expired leases, and takes steps between shards that were left behind.

use std::sync::Arc;

use hapax_core::EventId;
use hapax_core::store::{LOST_MAX, Rescued};
use redis::Value;

use crate::event::{destination, sixteen};
use crate::failure::{Failure, damaged};
use crate::lanes::{self, Step};
use crate::link::Link;
use crate::reply;
use crate::script::RESCUE;
use crate::shards::Shard;

pub(crate) async fn rescue(link: &Arc<Link>, limit: u32) -> Result<Vec<Rescued>, Failure> {
    let mut rescued = Vec::new();
    for shard in link.shards().all() {
        lanes::take_left(link, shard).await?;
        let room = limit - rescued.len() as u32;
        if room > 0 {
            rescued.extend(rescue_some(link, shard, room).await?);
        }
    }
    Ok(rescued)
}

async fn rescue_some(link: &Arc<Link>, shard: Shard, limit: u32) -> Result<Vec<Rescued>, Failure> {
    let args = [
        link.floor(),
        limit.to_string().into(),
        LOST_MAX.to_string().into(),
    ];
    let answers = link.call(shard, &RESCUE, &args).await?;
    settle_all(link, answers).await
}

/// The deliveries that were taken back. Lanes whose heads have died continue.
pub(crate) async fn settle_all(link: &Arc<Link>, answers: Value) -> Result<Vec<Rescued>, Failure> {
    let mut rescued = Vec::new();
    for answer in reply::list(answers)? {
        rescued.push(settle(link, answer).await?);
    }
    Ok(rescued)
}

async fn settle(link: &Arc<Link>, answer: Value) -> Result<Rescued, Failure> {
    let mut parts = reply::list(answer)?.into_iter();
    let mut next = || parts.next().ok_or_else(|| damaged("the answer to a rescue"));
    let rescued = Rescued {
        event: EventId::from_bytes(sixteen(&reply::bytes(next()?)?)?),
        destination: destination(&reply::bytes(next()?)?)?,
        attempt: reply::number(next()?)? as u32,
        lost: reply::number(next()?)? as u32,
    };
    if let (Some(kind), Some(lane), Some(ticket)) = (parts.next(), parts.next(), parts.next()) {
        let step = Step::written(rescued.event, &rescued.destination, [kind, lane, ticket])?;
        lanes::take_or_leave(link, &step).await;
    }
    Ok(rescued)
}
