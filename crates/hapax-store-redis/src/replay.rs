//! Replay: puts finished deliveries back into the queue.

use std::sync::Arc;

use hapax_core::store::{ReplayMode, ReplayOrder, Replayed};
use hapax_core::{DeliveryState, DestinationId, Generation, Lane, Token};

use crate::event::{self, EventRow, outcome_field};
use crate::failure::Failure;
use crate::identity::{event_key, rows};
use crate::lanes::{self, Step};
use crate::ledger::{self, Entry};
use crate::link::Link;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX, Snapshot};
use crate::work::{self, Outcome, Stay, Work, ended_member};
use crate::{packed, reply};

pub(crate) async fn replay(link: &Arc<Link>, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Failure> {
    let mut answers = Vec::with_capacity(orders.len());
    for order in &orders {
        answers.push(replay_one(link, order).await?);
    }
    Ok(answers)
}

async fn replay_one(link: &Link, order: &ReplayOrder) -> Result<Replayed, Failure> {
    let shard = link.shards().of_event(order.event);
    for _ in 0..ROUNDS_MAX {
        let row = rows(link, shard, &[order.event]).await?.pop();
        let Some(row) = row.filter(|row| !row.head.is_erased()) else {
            return Ok(Replayed::NotFound);
        };
        let chosen = match choose(order, &row)? {
            Choice::Unfinished => return Ok(Replayed::Unfinished),
            Choice::Nothing => return Ok(Replayed::Nothing),
            Choice::These(chosen) => chosen,
        };
        let key = row.identity().key();
        let entry = Command::new("HGET", format!("l{}", ledger::bucket(key))).arg(*key.as_bytes());
        let snapshot = link.read_and_take(shard, vec![entry], chosen.len() + 1).await?;
        let again = Again::decide(order, &row, snapshot)?;
        let plan = again.plan(&chosen)?;
        if link.apply_one(shard, plan.change).await? == Made::Yes {
            for step in &plan.steps {
                lanes::take_or_leave(link, step).await;
            }
            return Ok(Replayed::Again {
                deliveries: chosen.len() as u32,
                generation: plan.generation,
            });
        }
    }
    Err(Failure::Contended)
}

enum Choice<'a> {
    Unfinished,
    Nothing,
    /// Destinations, with the outcome that becomes history.
    These(Vec<(DestinationId, Option<(Token, &'a Outcome)>)>),
}

fn choose<'a>(order: &ReplayOrder, row: &'a EventRow) -> Result<Choice<'a>, Failure> {
    let covers = |to: &DestinationId| order.to.as_ref().is_none_or(|target| target.destination == *to);
    if row.work.keys().any(covers) {
        return Ok(Choice::Unfinished);
    }
    let mut chosen = Vec::new();
    let mut is_known = false;
    for (to, token, outcome) in row.last_outcomes().filter(|(to, ..)| covers(to)) {
        is_known = true;
        let replays = row.outcomes.get(to).into_iter().flat_map(|all| all.values());
        if order.chooses(
            outcome.state()?,
            outcome.error(),
            replays.filter_map(Outcome::replay),
        ) {
            chosen.push((to.clone(), Some((token, outcome))));
        }
    }
    if !is_known {
        chosen.extend(order.to.iter().map(|to| (to.destination.clone(), None)));
    }
    if chosen.is_empty() {
        return Ok(Choice::Nothing);
    }
    Ok(Choice::These(chosen))
}

/// A replay that is about to be written.
struct Again<'a> {
    order: &'a ReplayOrder,
    row: &'a EventRow,
    snapshot: Snapshot,
    /// The ledger's entry as it was read, its new value, and the generation taken from it.
    forced: Option<Forced>,
}

struct Forced {
    generation: Generation,
    entry: Option<(Vec<u8>, Entry)>,
}

struct Plan {
    change: Change,
    steps: Vec<Step>,
    generation: Generation,
}

impl<'a> Again<'a> {
    fn decide(order: &'a ReplayOrder, row: &'a EventRow, mut snapshot: Snapshot) -> Result<Self, Failure> {
        let entry = reply::optional_bytes(snapshot.next()?)?;
        let forced = match order.mode {
            ReplayMode::Failed | ReplayMode::All | ReplayMode::Held => None,
            ReplayMode::Force => Some(Forced::take(entry, row.generation)?),
        };
        Ok(Self {
            order,
            row,
            snapshot,
            forced,
        })
    }

    fn plan(&self, chosen: &[(DestinationId, Option<(Token, &Outcome)>)]) -> Result<Plan, Failure> {
        let id = self.order.event;
        let change = Change::default().when(event_key(id), "v", self.row.version.clone());
        let mut plan = Plan {
            change: self.with_generation(change),
            steps: Vec::new(),
            generation: self.row.generation,
        };
        for (number, (to, earlier)) in chosen.iter().enumerate() {
            let earlier_generation = earlier.map_or(self.row.generation, |(_, outcome)| outcome.generation());
            plan.generation = self
                .forced
                .as_ref()
                .map_or(earlier_generation, |forced| forced.generation);
            if let Some((token, outcome)) = earlier {
                into_history(&mut plan.change, id, to, *token, outcome)?;
            }
            self.work_again(&mut plan, to, earlier.map(|(_, outcome)| outcome), number)?;
        }
        let version = self.snapshot.numbers.at(chosen.len());
        plan.change
            .then(Command::new("HSET", event_key(id)).arg("v").number(version));
        Ok(plan)
    }

    /// A forced replay advances the ledger's generation, if the entry is unchanged.
    fn with_generation(&self, change: Change) -> Change {
        let Some(forced) = &self.forced else {
            return change;
        };
        let mut change = change;
        if let Some((read, entry)) = &forced.entry {
            let key = self.row.identity().key();
            let ledger = format!("l{}", ledger::bucket(key));
            change = change.when(ledger.clone(), *key.as_bytes(), read.clone());
            change.then(
                Command::new("HSET", ledger)
                    .arg(*key.as_bytes())
                    .arg(entry.to_bytes()),
            );
        }
        let acceptance = event::pack_acceptance(self.row.accepted_at, forced.generation);
        change.then(
            Command::new("HSET", event_key(self.order.event))
                .arg("m")
                .arg(acceptance),
        );
        change
    }

    fn work_again(
        &self,
        plan: &mut Plan,
        to: &DestinationId,
        earlier: Option<&Outcome>,
        number: usize,
    ) -> Result<(), Failure> {
        let id = self.order.event;
        let token = self.snapshot.numbers.at(number);
        let now = self.snapshot.now;
        let mut again = Work {
            generation: plan.generation.0,
            token,
            ticket: token,
            replay: work::job_text(self.order.job),
            ..Work::default()
        };
        if let Some(lane) = self.lane(earlier) {
            // A dead delivery that holds its lane never left it.
            let holder = earlier.filter(|outcome| outcome.holds_lane());
            again.ticket = holder.map_or(token, |outcome| outcome.ticket);
            let place = self.place(earlier);
            again.stay = Stay::in_lane(Some(&lane), Some(place));
            let step = Step::join(id, to, &lane.key, again.ticket).at(place);
            plan.change.then(step.note(now));
            let stays = Command::new("HSET", event_key(id)).arg(format!("y{to}"));
            plan.change.then(stays.number(again.ticket));
            plan.steps.push(step);
        } else {
            again.due = Some(now.as_micros());
        }
        if let Some(due) = again.due {
            let queue = format!("{}{to}", again.queue());
            plan.change
                .then(Command::new("ZADD", queue).number(due).arg(*id.as_bytes()));
        }
        plan.change.then(
            Command::new("HINCRBY", "n")
                .arg(format!("pending:{to}"))
                .number(1),
        );
        let packed = packed::pack(&again)?;
        plan.change.then(
            Command::new("HSET", event_key(id))
                .arg(format!("w{to}"))
                .arg(packed),
        );
        Ok(())
    }

    fn lane(&self, earlier: Option<&Outcome>) -> Option<Lane> {
        let holds = earlier.is_some_and(Outcome::holds_lane);
        match &self.order.to {
            Some(target) if !holds => target.lane.clone(),
            Some(_) | None => earlier.and_then(|outcome| outcome.stay.lane()),
        }
    }

    /// The position of its acceptance. Positions are numbers that are never below the server's clock.
    fn place(&self, earlier: Option<&Outcome>) -> u64 {
        let accepted = u64::try_from(self.row.accepted_at.as_micros()).unwrap_or(0);
        earlier.and_then(|outcome| outcome.stay.place).unwrap_or(accepted)
    }
}

impl Forced {
    /// A generation that no event of this identity was ever given.
    fn take(entry: Option<Vec<u8>>, current: Generation) -> Result<Self, Failure> {
        let Some(read) = entry else {
            return Ok(Self {
                generation: current.next(),
                entry: None,
            });
        };
        let mut entry = Entry::from_bytes(&read)?;
        let next = entry.known.generation.next();
        // A tombstone holds the generation meant for the next event: the replay takes it, and the tombstone moves on.
        let generation = if entry.is_forgotten {
            entry.known.generation
        } else {
            next
        };
        entry.known.generation = next;
        Ok(Self {
            generation,
            entry: Some((read, entry)),
        })
    }
}

/// The outcome stays, but is no longer listed or counted.
fn into_history(
    change: &mut Change,
    id: hapax_core::EventId,
    to: &DestinationId,
    token: Token,
    outcome: &Outcome,
) -> Result<(), Failure> {
    leave_list(change, id, to, outcome)?;
    if outcome.holds_lane() {
        let history = Outcome {
            holds: None,
            ..outcome.clone()
        };
        let command = Command::new("HSET", event_key(id)).arg(outcome_field(to, token));
        change.then(command.arg(packed::pack(&history)?));
    }
    Ok(())
}

/// Removes a dead or discarded delivery from its list.
pub(crate) fn leave_list(
    change: &mut Change,
    id: hapax_core::EventId,
    to: &DestinationId,
    outcome: &Outcome,
) -> Result<(), Failure> {
    let list = match outcome.state()? {
        DeliveryState::Dead => {
            change.then(Command::new("HINCRBY", "n").arg(format!("dead:{to}")).number(-1));
            "d"
        }
        DeliveryState::Discarded => "g",
        DeliveryState::Pending
        | DeliveryState::Running
        | DeliveryState::Retrying
        | DeliveryState::Completed => return Ok(()),
    };
    let member = ended_member(id, to, outcome.error.as_deref());
    change.then(Command::new("ZREM", list).arg(member));
    Ok(())
}
