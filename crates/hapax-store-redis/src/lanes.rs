//! Lanes: deliveries of one destination that run one at a time.
//!
//! A lane is in one shard, the events in it are in others, and no script reaches both. So a delivery joins and leaves in
//! steps that may be repeated: the shard of the event writes the step down with the change that makes it necessary, the
//! lane takes it, and its head is told. Whoever finds a step that nobody finished takes it again.
//!
//! A lane names each of its members by event and *ticket*, which is another for every stay. A head whose ticket the event
//! does not know any more is taken out.

use std::time::Duration;

use hapax_core::{DestinationId, EventId, Timestamp};
use redis::Value;

use crate::event;
use crate::failure::{Failure, damaged};
use crate::identity;
use crate::link::Link;
use crate::reply;
use crate::script::{LANE, PROMOTE};
use crate::shards::Shard;
use crate::snapshot::{Change, Command};

/// A step that is older than this was left by somebody who died.
const LEFT_AFTER: Duration = Duration::from_secs(10);
/// Steps of one shard that are taken in one go.
const STEPS_MAX: u32 = 100;

/// A step between the shard of an event and the shard of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    kind: Kind,
    id: EventId,
    to: DestinationId,
    lane: Vec<u8>,
    ticket: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Join,
    Leave,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Leave => "leave",
        }
    }
}

impl Step {
    pub(crate) fn join(id: EventId, to: &DestinationId, lane: &str, ticket: u64) -> Self {
        Self::new(Kind::Join, id, to, lane, ticket)
    }

    pub(crate) fn leave(id: EventId, to: &DestinationId, lane: &str, ticket: u64) -> Self {
        Self::new(Kind::Leave, id, to, lane, ticket)
    }

    fn new(kind: Kind, id: EventId, to: &DestinationId, lane: &str, ticket: u64) -> Self {
        Self {
            kind,
            id,
            to: to.clone(),
            lane: lane.as_bytes().to_vec(),
            ticket,
        }
    }

    /// What writes it down, together with the change that makes it necessary.
    pub(crate) fn note(&self, at: Timestamp) -> Command {
        Command::new("ZADD", "j")
            .number(at.as_micros())
            .arg(self.to_bytes())
    }

    /// As `step_of` in `scripts/shard.lua` writes it.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\0{}\0", self.kind.as_str(), self.ticket).into_bytes();
        bytes.extend(self.id.as_bytes());
        bytes.extend(self.to.as_str().as_bytes());
        bytes.push(0);
        bytes.extend(&self.lane);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        let (kind, rest) = event::split(bytes)?;
        let (ticket, rest) = event::split(rest)?;
        let (id, rest) = rest.split_first_chunk().ok_or_else(|| damaged("a step"))?;
        let (to, lane) = event::split(rest)?;
        let kind = [Kind::Join, Kind::Leave]
            .into_iter()
            .find(|known| known.as_str().as_bytes() == kind);
        let ticket = std::str::from_utf8(ticket)
            .ok()
            .and_then(|ticket| ticket.parse().ok());
        Ok(Self {
            kind: kind.ok_or_else(|| damaged("the kind of a step"))?,
            id: EventId::from_bytes(*id),
            to: event::destination(to)?,
            lane: lane.to_vec(),
            ticket: ticket.ok_or_else(|| damaged("the ticket of a step"))?,
        })
    }
}

/// Takes a step: afterwards the lane is as it should be, its head is due, and the step is crossed out.
pub(crate) async fn take(link: &Link, step: &Step) -> Result<(), Failure> {
    let member = member(step.id, step.ticket);
    let (place, head) = change(link, step, step.kind, &member).await?;
    let is_head = head.as_ref() == Some(&member);
    if !is_head {
        go_on(link, step, head).await?;
    }
    if step.kind == Kind::Join && !tell(link, &step.to, &member, Some(place), is_head).await? {
        let (_, head) = change(link, step, Kind::Leave, &member).await?;
        go_on(link, step, head).await?;
    }
    let mut crossed_out = Change::default();
    crossed_out.then(Command::new("ZREM", "j").arg(step.to_bytes()));
    link.apply_one(link.shards().of_event(step.id), crossed_out)
        .await?;
    Ok(())
}

/// Makes the head due. One whose stay is over is taken out, and the next is the head.
async fn go_on(link: &Link, step: &Step, mut head: Option<Vec<u8>>) -> Result<(), Failure> {
    while let Some(member) = head {
        if tell(link, &step.to, &member, None, true).await? {
            return Ok(());
        }
        (_, head) = change(link, step, Kind::Leave, &member).await?;
    }
    Ok(())
}

/// Changes who is in the step's lane; the member's place, and the head.
async fn change(
    link: &Link,
    step: &Step,
    kind: Kind,
    member: &[u8],
) -> Result<(u64, Option<Vec<u8>>), Failure> {
    let args = [
        link.floor(),
        name(&step.to, &step.lane),
        kind.as_str().into(),
        member.to_vec(),
        Vec::new(),
    ];
    let answer = link.call(shard(link, &step.to, &step.lane), &LANE, &args).await?;
    let [place, head]: [Value; 2] = reply::exactly(answer)?;
    let place = reply::number(place)?;
    link.seen(place);
    Ok((place, reply::optional_bytes(head)?))
}

/// Tells a delivery about its stay; whether it goes on.
async fn tell(
    link: &Link,
    to: &DestinationId,
    member: &[u8],
    place: Option<u64>,
    is_head: bool,
) -> Result<bool, Failure> {
    let (id, ticket) = split(member)?;
    let args = [
        link.floor(),
        id.as_bytes().to_vec(),
        to.as_str().into(),
        ticket.to_vec(),
        place
            .map(|place| place.to_string().into_bytes())
            .unwrap_or_default(),
        if is_head { b"head".to_vec() } else { Vec::new() },
    ];
    let stays = link.call(link.shards().of_event(id), &PROMOTE, &args).await?;
    Ok(reply::number(stays)? == 1)
}

/// Takes the steps of a shard that somebody has left.
pub(crate) async fn take_left(link: &Link, shard: Shard) -> Result<(), Failure> {
    take_some(link, shard, LEFT_AFTER).await?;
    Ok(())
}

/// Takes every step of a shard, of a store that nobody serves.
pub(crate) async fn take_all(link: &Link, shard: Shard) -> Result<(), Failure> {
    while take_some(link, shard, Duration::ZERO).await? > 0 {}
    Ok(())
}

/// Takes the oldest steps, if they are so old; how many.
async fn take_some(link: &Link, shard: Shard, age: Duration) -> Result<usize, Failure> {
    let oldest = Command::new("ZRANGE", "j")
        .number(0)
        .number(STEPS_MAX)
        .arg("WITHSCORES");
    let mut snapshot = link.read(shard, vec![oldest]).await?;
    let before = snapshot.now.minus(age).as_micros() as u64;
    let mut steps = reply::list(snapshot.next()?)?.into_iter();
    let mut count = 0;
    while let (Some(step), Some(since)) = (steps.next(), steps.next()) {
        if reply::number(since)? < before {
            take(link, &Step::from_bytes(&reply::bytes(step)?)?).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// Puts a delivery into a lane, at the place that it had in another store.
pub(crate) async fn join_at(
    link: &Link,
    to: &DestinationId,
    lane: &str,
    member: Vec<u8>,
    place: u64,
) -> Result<(), Failure> {
    let args = [
        link.floor(),
        name(to, lane.as_bytes()),
        Kind::Join.as_str().into(),
        member,
        place.to_string().into_bytes(),
    ];
    link.call(shard(link, to, lane.as_bytes()), &LANE, &args).await?;
    Ok(())
}

/// Sees to it that an event has joined its lanes. Whoever stored it may have died before.
pub(crate) async fn join_all(link: &Link, id: EventId) -> Result<(), Failure> {
    for row in identity::rows(link, link.shards().of_event(id), &[id]).await? {
        for (to, work) in &row.work {
            if let Some(lane) = work.stay.lane().filter(|_| work.stay.place.is_none()) {
                take(link, &Step::join(id, to, &lane.key, work.ticket)).await?;
            }
        }
    }
    Ok(())
}

/// Takes a step that was written down: if that fails, [`take_left`] does it later.
pub(crate) async fn take_or_leave(link: &Link, step: &Step) {
    if let Err(failure) = take(link, step).await {
        tracing::warn!(%failure, "a lane does not go on yet: its step is taken again in a few seconds");
    }
}

/// Which delivery is on its way into a lane, if that is what a step is about.
pub(crate) fn joining(step: &[u8]) -> Result<Option<(EventId, DestinationId)>, Failure> {
    let step = Step::from_bytes(step)?;
    Ok((step.kind == Kind::Join).then_some((step.id, step.to)))
}

/// The key of a lane, without its shard's tag and kind.
pub(crate) fn name(to: &DestinationId, lane: &[u8]) -> Vec<u8> {
    [to.as_str().as_bytes(), &[0], lane].concat()
}

pub(crate) fn shard(link: &Link, to: &DestinationId, lane: &[u8]) -> Shard {
    link.shards().of_name(&[to.as_str().as_bytes(), lane])
}

/// A delivery in a lane: the event and its ticket.
pub(crate) fn member(id: EventId, ticket: u64) -> Vec<u8> {
    [id.as_bytes(), ticket.to_string().as_bytes()].concat()
}

fn split(member: &[u8]) -> Result<(EventId, &[u8]), Failure> {
    let (id, ticket) = member
        .split_first_chunk()
        .ok_or_else(|| damaged("a member of a lane"))?;
    Ok((EventId::from_bytes(*id), ticket))
}
