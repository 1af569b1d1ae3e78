//! Discarding dead letters, and restoring them. If a dead head held its lane, the lane continues.

use hapax_core::store::Disposal;
use hapax_core::{DeliveryState, DestinationId, EventId, Token};

use crate::event::{EventRow, outcome_field};
use crate::failure::Failure;
use crate::identity::{event_key, rows};
use crate::lanes::{self, Step};
use crate::link::Link;
use crate::packed;
use crate::replay::leave_list;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX, Snapshot};
use crate::work::{Outcome, ended_member};

/// Discards or restores deliveries. Returns how many changed.
pub(crate) async fn dispose(
    link: &Link,
    deliveries: &[(EventId, DestinationId)],
    disposal: Disposal,
) -> Result<u64, Failure> {
    let mut changed = 0;
    for (id, to) in deliveries {
        changed += dispose_one(link, *id, to, disposal).await?;
    }
    Ok(changed)
}

async fn dispose_one(
    link: &Link,
    id: EventId,
    to: &DestinationId,
    disposal: Disposal,
) -> Result<u64, Failure> {
    let shard = link.shards().of_event(id);
    let from = match disposal {
        Disposal::Discard => DeliveryState::Dead,
        Disposal::Restore => DeliveryState::Discarded,
    };
    for _ in 0..ROUNDS_MAX {
        let Some(row) = rows(link, shard, &[id]).await?.pop() else {
            return Ok(0);
        };
        let Some((token, outcome)) = last(&row, to) else {
            return Ok(0);
        };
        if outcome.state()? != from {
            return Ok(0);
        }
        let snapshot = link.read_and_take(shard, Vec::new(), 1).await?;
        let disposed = Disposed { row: &row, to, token };
        let (change, step) = disposed.plan(outcome, disposal, &snapshot)?;
        if link.apply_one(shard, change).await? == Made::Yes {
            if let Some(step) = step {
                lanes::take_or_leave(link, &step).await;
            }
            return Ok(1);
        }
    }
    Err(Failure::Contended)
}

/// The last outcome for a destination, unless a delivery is unfinished there.
fn last<'a>(row: &'a EventRow, to: &DestinationId) -> Option<(Token, &'a Outcome)> {
    row.last_outcomes()
        .find(|(known, ..)| *known == to)
        .map(|(_, token, outcome)| (token, outcome))
}

struct Disposed<'a> {
    row: &'a EventRow,
    to: &'a DestinationId,
    token: Token,
}

impl Disposed<'_> {
    /// The change to write, and the step of its lane.
    fn plan(
        &self,
        outcome: &Outcome,
        disposal: Disposal,
        snapshot: &Snapshot,
    ) -> Result<(Change, Option<Step>), Failure> {
        let event = event_key(self.row.id);
        let mut change = Change::default().when(event.clone(), "v", self.row.version.clone());
        leave_list(&mut change, self.row.id, self.to, outcome)?;
        self.enter_list(&mut change, outcome, disposal);
        let state = match disposal {
            Disposal::Discard => DeliveryState::Discarded,
            Disposal::Restore => DeliveryState::Dead,
        };
        let disposed = Outcome {
            state: state.as_str().to_owned(),
            holds: None,
            ..outcome.clone()
        };
        change.then(
            Command::new("HSET", event)
                .arg(outcome_field(self.to, self.token))
                .arg(packed::pack(&disposed)?)
                .arg("v")
                .number(snapshot.numbers.at(0)),
        );
        let step = self.leave_lane(&mut change, outcome, snapshot);
        Ok((change, step))
    }

    fn enter_list(&self, change: &mut Change, outcome: &Outcome, disposal: Disposal) {
        let list = match disposal {
            Disposal::Discard => "g",
            Disposal::Restore => {
                let count = Command::new("HINCRBY", "n").arg(format!("dead:{}", self.to));
                change.then(count.number(1));
                "d"
            }
        };
        let member = ended_member(self.row.id, self.to, outcome.error.as_deref());
        change.then(Command::new("ZADD", list).number(outcome.order).arg(member));
    }

    /// If it held its lane, it leaves in the same change.
    fn leave_lane(&self, change: &mut Change, outcome: &Outcome, snapshot: &Snapshot) -> Option<Step> {
        let lane = outcome.stay.lane().filter(|_| outcome.holds_lane())?;
        let step = Step::leave(self.row.id, self.to, &lane.key, outcome.ticket);
        change.then(Command::new("HDEL", event_key(self.row.id)).arg(format!("y{}", self.to)));
        change.then(step.note(snapshot.now));
        Some(step)
    }
}
