//! Erasing events: their contents are deleted at once. An append-only file keeps them until it is rewritten.

use hapax_core::store::{Erased, Unfinished};
use hapax_core::{Attempt, DeliveryState, DestinationId, EventId, Headers};

use crate::event::{EventRow, attempt_field, conflict_field, outcome_field, pack_body};
use crate::failure::{Failure, damaged};
use crate::identity::{event_key, rows};
use crate::lanes::{self, Step};
use crate::link::Link;
use crate::packed;
use crate::purge::conflict_key;
use crate::replay::leave_list;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX, Snapshot};
use crate::work::{Outcome, Work, ended_member, member};

/// Erases events independently of each other.
pub(crate) async fn erase(
    link: &Link,
    events: &[EventId],
    unfinished: Unfinished,
) -> Result<Vec<Erased>, Failure> {
    let mut answers = Vec::with_capacity(events.len());
    for event in events {
        answers.push(erase_one(link, *event, unfinished).await?);
    }
    Ok(answers)
}

async fn erase_one(link: &Link, id: EventId, unfinished: Unfinished) -> Result<Erased, Failure> {
    let shard = link.shards().of_event(id);
    for _ in 0..ROUNDS_MAX {
        let Some(row) = rows(link, shard, &[id]).await?.pop() else {
            return Ok(Erased::NotFound);
        };
        if row.is_unfinished() && unfinished == Unfinished::Keep {
            return Ok(Erased::Unfinished);
        }
        let numbers = row.work.len() + 1;
        let snapshot = link.read_and_take(shard, Vec::new(), numbers).await?;
        let plan = plan(&row, &snapshot)?;
        if link.apply_one(shard, plan.change).await? == Made::Yes {
            for step in &plan.steps {
                lanes::take_or_leave(link, step).await;
            }
            return Ok(if row.head.is_erased() {
                Erased::Before
            } else {
                Erased::Now {
                    discarded: plan.discarded,
                }
            });
        }
    }
    Err(Failure::Contended)
}

/// The change to write, and the lanes that continue.
struct Plan {
    change: Change,
    steps: Vec<Step>,
    discarded: u32,
}

fn plan(row: &EventRow, snapshot: &Snapshot) -> Result<Plan, Failure> {
    let event = event_key(row.id);
    let mut plan = Plan {
        change: Change::default()
            .when(event.clone(), "h", row.packed_head.clone())
            .when(event.clone(), "v", row.version.clone()),
        steps: Vec::new(),
        discarded: 0,
    };
    plan.forget_content(row)?;
    for (number, (to, work)) in row.work.iter().enumerate() {
        plan.end(row.id, to, work, snapshot.numbers.at(number), snapshot)?;
    }
    for (to, token, outcome) in row.last_outcomes() {
        if outcome.state()? == DeliveryState::Dead {
            leave_list(&mut plan.change, row.id, to, outcome)?;
            if outcome.holds_lane() {
                plan.leave_lane(row.id, to, outcome, snapshot);
            }
            let field = outcome_field(to, token);
            plan.discard(row.id, to, field, outcome.clone())?;
        }
    }
    let version = snapshot.numbers.at(row.work.len());
    plan.change
        .then(Command::new("HSET", event).arg("v").number(version));
    Ok(plan)
}

impl Plan {
    /// Deletes headers, body, indexed values, conflicts, and the responses of destinations.
    fn forget_content(&mut self, row: &EventRow) -> Result<(), Failure> {
        let event = event_key(row.id);
        self.change.then(
            Command::new("HSET", event.clone())
                .arg("h")
                .arg(packed::pack(&row.head.without_body())?)
                .arg("b")
                .arg(pack_body(&Headers::erased(), b"")),
        );
        for view in &row.attempts {
            let silent = Attempt {
                excerpt: String::new(),
                message: None,
                ..view.attempt.clone()
            };
            let silent = serde_json::to_vec(&silent).map_err(|_| damaged("an attempt"))?;
            let command = Command::new("HSET", event.clone()).arg(attempt_field(view));
            self.change.then(command.arg(silent));
        }
        for name in &row.indexed {
            let command = Command::new("ZREM", format!("i{name}"));
            self.change.then(command.arg(*row.id.as_bytes()));
        }
        self.change.then(Command::new("HDEL", event.clone()).arg("i"));
        for (hash, _) in &row.conflicts {
            self.change
                .then(Command::new("UNLINK", conflict_key(row.id, hash.as_bytes())));
            self.change
                .then(Command::new("HDEL", event.clone()).arg(conflict_field(*hash)));
        }
        Ok(())
    }

    /// Ends an unfinished delivery, as `finish` in `scripts/work.lua` does.
    fn end(
        &mut self,
        id: EventId,
        to: &DestinationId,
        work: &Work,
        order: u64,
        snapshot: &Snapshot,
    ) -> Result<(), Failure> {
        let count = Command::new("HINCRBY", "n").arg(format!("{}:{to}", work.state().as_str()));
        self.change.then(count.number(-1));
        self.change.then(Command::new("ZREM", "r").arg(member(id, to)));
        for queue in [work.queue(), 'w'] {
            let queue = format!("{queue}{to}");
            self.change.then(Command::new("ZREM", queue).arg(*id.as_bytes()));
        }
        self.change
            .then(Command::new("HDEL", event_key(id)).arg(format!("w{to}")));
        let outcome = Outcome {
            attempts: work.attempts,
            lost: work.lost,
            finished: snapshot.now.as_micros(),
            order,
            generation: work.generation,
            ticket: work.ticket,
            stay: work.stay.clone(),
            replay: work.replay.clone(),
            ..Outcome::default()
        };
        self.leave_lane(id, to, &outcome, snapshot);
        self.discard(id, to, outcome_field(to, work.token()), outcome)
    }

    /// Rewrites an outcome as discarded.
    fn discard(
        &mut self,
        id: EventId,
        to: &DestinationId,
        field: Vec<u8>,
        outcome: Outcome,
    ) -> Result<(), Failure> {
        let discarded = Outcome {
            state: DeliveryState::Discarded.as_str().to_owned(),
            holds: None,
            ..outcome
        };
        let listed = ended_member(id, to, discarded.error.as_deref());
        self.change
            .then(Command::new("ZADD", "g").number(discarded.order).arg(listed));
        let command = Command::new("HSET", event_key(id)).arg(field);
        self.change.then(command.arg(packed::pack(&discarded)?));
        self.discarded += 1;
        Ok(())
    }

    /// Removes it from its lane, if it has one.
    fn leave_lane(&mut self, id: EventId, to: &DestinationId, outcome: &Outcome, snapshot: &Snapshot) {
        let Some(lane) = outcome.stay.lane() else {
            return;
        };
        let step = Step::leave(id, to, &lane.key, outcome.ticket);
        self.change
            .then(Command::new("HDEL", event_key(id)).arg(format!("y{to}")));
        self.change.then(step.note(snapshot.now));
        self.steps.push(step);
    }
}
