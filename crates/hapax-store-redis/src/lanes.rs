//! Lanes: deliveries of one destination that run one at a time.
//!
//! A lane is in one shard, the events in it are in others, and no script reaches both. So a delivery joins and leaves
//! in steps that may be repeated: the event's shard records the step together with the change that makes it necessary,
//! the lane applies it, and its head is notified. A process that finds an unfinished step takes it again.
//!
//! A lane identifies each of its members by event and *ticket*; every stay has a new ticket. A head whose ticket the
//! event no longer knows is removed.
//!
//! One member has the *turn*: it is due or running. If a replay puts another member before it, it is asked to give way,
//! and the turn is passed on; a member that was attempted keeps the turn. Each notification carries a number of the
//! lane, and earlier notifications no longer count.

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

/// A step older than this was left behind by a process that died.
const LEFT_AFTER: Duration = Duration::from_secs(10);
/// Steps of one shard that are taken in one batch.
const STEPS_MAX: u32 = 100;

/// A step between the shard of an event and the shard of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    kind: Kind,
    id: EventId,
    to: DestinationId,
    lane: Vec<u8>,
    ticket: u64,
    /// The position of a member that joins, if it is not the next one. Not part of the recorded step: the delivery has
    /// it.
    place: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Join,
    Leave,
    /// Joins, and has the turn. Never recorded.
    Take,
    /// Passes the turn on. Never recorded.
    Pass,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Leave => "leave",
            Self::Take => "take",
            Self::Pass => "pass",
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

    /// A step that a script has recorded: its kind, the lane and the ticket.
    pub(crate) fn written(id: EventId, to: &DestinationId, parts: [Value; 3]) -> Result<Self, Failure> {
        let [kind, lane, ticket] = parts;
        let kind = kind_of(&reply::bytes(kind)?)?;
        Ok(Self::new(
            kind,
            id,
            to,
            &reply::text(lane)?,
            reply::number(ticket)?,
        ))
    }

    fn new(kind: Kind, id: EventId, to: &DestinationId, lane: &str, ticket: u64) -> Self {
        Self {
            kind,
            id,
            to: to.clone(),
            lane: lane.as_bytes().to_vec(),
            ticket,
            place: None,
        }
    }

    /// The step at a given position.
    pub(crate) fn at(self, place: u64) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    /// The command that records it, together with the change that makes it necessary.
    pub(crate) fn note(&self, at: Timestamp) -> Command {
        Command::new("ZADD", "j")
            .number(at.as_micros())
            .arg(self.to_bytes())
    }

    /// The bytes that `step_of` in `scripts/shard.lua` writes.
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
        let ticket = std::str::from_utf8(ticket)
            .ok()
            .and_then(|ticket| ticket.parse().ok());
        Ok(Self {
            kind: kind_of(kind)?,
            id: EventId::from_bytes(*id),
            to: event::destination(to)?,
            lane: lane.to_vec(),
            ticket: ticket.ok_or_else(|| damaged("the ticket of a step"))?,
            place: None,
        })
    }
}

fn kind_of(name: &[u8]) -> Result<Kind, Failure> {
    [Kind::Join, Kind::Leave]
        .into_iter()
        .find(|known| known.as_str().as_bytes() == name)
        .ok_or_else(|| damaged("the kind of a step"))
}

/// A lane after a change.
struct Now {
    /// The position of the member that changed it.
    place: u64,
    /// Its first member, and the member that has the turn, with the number; `None` if the lane is empty.
    head_and_turn: Option<(Vec<u8>, Turn)>,
    /// A number that is greater than the turn's.
    greater: u64,
}

struct Turn {
    who: Vec<u8>,
    number: u64,
}

/// A notification to a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notice {
    /// Only its position.
    Place,
    /// It has the turn, under a number of the lane.
    Turn(u64),
    /// It must give way.
    Yield(u64),
}

/// The delivery's response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Complied,
    /// Its stay has ended.
    Left,
    /// It was attempted, and keeps its turn.
    KeepsTurn,
    /// It has already received a newer notification.
    KnowsBetter,
}

/// Takes a step: afterwards the lane is correct, the member with the turn is due, and the record of the step is
/// deleted.
pub(crate) async fn take(link: &Link, step: &Step) -> Result<(), Failure> {
    let member = member(step.id, step.ticket);
    let place = step.place.map(|place| place.to_string()).unwrap_or_default();
    let now = change(link, step, step.kind, &member, place).await?;
    match step.kind {
        Kind::Join => arrive(link, step, &member, now).await?,
        Kind::Leave | Kind::Take | Kind::Pass => settle(link, step, now).await?,
    }
    let mut crossed_out = Change::default();
    crossed_out.then(Command::new("ZREM", "j").arg(step.to_bytes()));
    link.apply_one(link.shards().of_event(step.id), crossed_out)
        .await?;
    Ok(())
}

/// Notifies a member that joined of its position, and of its turn if it has it.
async fn arrive(link: &Link, step: &Step, member: &[u8], now: Now) -> Result<(), Failure> {
    let notice = match &now.head_and_turn {
        Some((head, turn)) if head == member && turn.who == member => Notice::Turn(turn.number),
        Some(_) | None => Notice::Place,
    };
    match notify(link, &step.to, member, Some(now.place), notice).await? {
        Did::Complied if notice != Notice::Place => Ok(()),
        Did::Complied | Did::KeepsTurn | Did::KnowsBetter => settle(link, step, now).await,
        Did::Left => {
            let now = change(link, step, Kind::Leave, member, String::new()).await?;
            settle(link, step, now).await
        }
    }
}

/// Gives the turn to the first member, unless another was attempted and keeps it. A member whose stay has ended is
/// removed.
async fn settle(link: &Link, step: &Step, mut now: Now) -> Result<(), Failure> {
    while let Some((head, turn)) = &now.head_and_turn {
        let is_right = *head == turn.who;
        let notice = if is_right {
            Notice::Turn(turn.number)
        } else {
            Notice::Yield(now.greater)
        };
        let (kind, number) = match notify(link, &step.to, &turn.who, None, notice).await? {
            Did::Complied if is_right => return Ok(()),
            Did::KeepsTurn => return Ok(()),
            Did::Complied | Did::KnowsBetter => (Kind::Pass, turn.number.to_string()),
            Did::Left => (Kind::Leave, String::new()),
        };
        now = change(link, step, kind, &turn.who, number).await?;
    }
    Ok(())
}

/// Changes the members of the step's lane, or the turn.
async fn change(link: &Link, step: &Step, kind: Kind, member: &[u8], number: String) -> Result<Now, Failure> {
    let args = [
        link.floor(),
        name(&step.to, &step.lane),
        kind.as_str().into(),
        member.to_vec(),
        number.into(),
    ];
    let answer = link.call(shard(link, &step.to, &step.lane), &LANE, &args).await?;
    let [place, head, who, number, greater]: [Value; 5] = reply::exactly(answer)?;
    let (place, number, greater) = (
        reply::number(place)?,
        reply::number(number)?,
        reply::number(greater)?,
    );
    link.seen(place.max(greater));
    let head_and_turn = reply::optional_bytes(head)?
        .zip(reply::optional_bytes(who)?)
        .map(|(head, who)| (head, Turn { who, number }));
    Ok(Now {
        place,
        head_and_turn,
        greater,
    })
}

/// Notifies a delivery about its stay.
async fn notify(
    link: &Link,
    to: &DestinationId,
    member: &[u8],
    place: Option<u64>,
    notice: Notice,
) -> Result<Did, Failure> {
    let (id, ticket) = split(member)?;
    let (notice, number) = match notice {
        Notice::Place => ("", 0),
        Notice::Turn(number) => ("turn", number),
        Notice::Yield(number) => ("yield", number),
    };
    let args = [
        link.floor(),
        id.as_bytes().to_vec(),
        to.as_str().into(),
        ticket.to_vec(),
        place
            .map(|place| place.to_string().into_bytes())
            .unwrap_or_default(),
        notice.into(),
        number.to_string().into(),
    ];
    let did = link.call(link.shards().of_event(id), &PROMOTE, &args).await?;
    match reply::number(did)? {
        0 => Ok(Did::Left),
        1 => Ok(Did::Complied),
        2 => Ok(Did::KeepsTurn),
        3 => Ok(Did::KnowsBetter),
        _ => Err(damaged("the response of a delivery")),
    }
}

/// Takes the steps of a shard that were left behind.
pub(crate) async fn take_left(link: &Link, shard: Shard) -> Result<(), Failure> {
    take_some(link, shard, LEFT_AFTER).await?;
    Ok(())
}

/// Takes every step of a shard, in a store that is not being served.
pub(crate) async fn take_all(link: &Link, shard: Shard) -> Result<(), Failure> {
    while take_some(link, shard, Duration::ZERO).await? > 0 {}
    Ok(())
}

/// Takes the oldest steps, if they are at least this old. Returns how many.
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
            let step = Step::from_bytes(&reply::bytes(step)?)?;
            take(link, &placed(link, shard, step).await?).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// A recorded step, with the position of its delivery if it was replayed.
async fn placed(link: &Link, shard: Shard, step: Step) -> Result<Step, Failure> {
    if step.kind != Kind::Join {
        return Ok(step);
    }
    let row = identity::rows(link, shard, &[step.id]).await?.pop();
    let work = row.as_ref().and_then(|row| row.work.get(&step.to));
    let place = work
        .filter(|work| work.ticket == step.ticket)
        .and_then(|work| work.stay.place);
    Ok(match place {
        Some(place) => step.at(place),
        None => step,
    })
}

/// A position that a delivery had in another store.
pub(crate) struct Held<'r> {
    pub(crate) id: EventId,
    pub(crate) to: &'r DestinationId,
    pub(crate) lane: &'r str,
    pub(crate) place: u64,
    pub(crate) ticket: u64,
    /// Whether it is due, and so has the turn.
    pub(crate) is_due: bool,
}

/// Puts a delivery back into a lane at its position.
pub(crate) async fn join_at(link: &Link, held: &Held<'_>) -> Result<(), Failure> {
    let step = Step::join(held.id, held.to, held.lane, held.ticket);
    let kind = if held.is_due { Kind::Take } else { Kind::Join };
    let member = member(held.id, held.ticket);
    change(link, &step, kind, &member, held.place.to_string()).await?;
    Ok(())
}

/// Ensures that an event has joined its lanes: the process that stored it may have died before that.
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

/// Takes a recorded step; if that fails, [`take_left`] does it later.
pub(crate) async fn take_or_leave(link: &Link, step: &Step) {
    if let Err(failure) = take(link, step).await {
        tracing::warn!(%failure, "a lane is stalled: its step is retried in a few seconds");
    }
}

/// The delivery that is joining a lane, if that is what a step is about.
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
