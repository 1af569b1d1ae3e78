//! A record as changes: values that are derived for this store are derived here.

use std::collections::BTreeSet;

use hapax_core::store::{EventContents, IdentityRecord, InLane, OutcomeRecord, WorkRecord};
use hapax_core::{DeliveryState, ErrorClass, EventId, Timestamp};

use crate::accept::index_name;
use crate::event::{Conflict, Head, attempt_field, outcome_field, pack_acceptance, pack_body};
use crate::failure::Failure;
use crate::identity::event_key;
use crate::lanes::Held;
use crate::ledger::{self, Entry};
use crate::snapshot::{Change, Command};
use crate::work::{self, Outcome, Stay, Work, ended_member};
use crate::{conflicts, duplicates, json, packed};

/// The change that writes an identity, unless it exists.
pub(super) fn change(record: &IdentityRecord, scope: u16) -> Result<Change, Failure> {
    let key = *record.key.as_bytes();
    let ledger = format!("l{}", ledger::bucket(record.key));
    let mut change = Change::default().when(ledger.clone(), key, "");
    let entry = Entry {
        known: record.entry.clone(),
        scope,
        is_forgotten: record.is_forgotten,
    };
    change.then(Command::new("HSET", ledger).arg(key).arg(entry.to_bytes()));
    let hour = ledger::hour(record.entry.expires_at);
    change.then(Command::new("RPUSH", format!("x{hour}")).arg(key));
    change.then(Command::new("ZADD", "h").number(hour).number(hour));
    count(&mut change, &format!("ledger:{}", record.scope));
    let earlier = earlier(record);
    if !earlier.is_empty() {
        change.then(Command::new("HSET", "k").arg(key).arg(earlier));
    }
    if let Some(tally) = &record.duplicates {
        change.then(duplicates::keep(record.key, tally)?);
    }
    add_conflicts(&mut change, record)?;
    for contents in &record.events {
        add_event(&mut change, contents)?;
    }
    Ok(change)
}

/// The concatenated ids of events other than the entry's own, including deleted ones with a stored conflict.
fn earlier(record: &IdentityRecord) -> Vec<u8> {
    let events = record.events.iter().map(|contents| contents.event.id);
    let others = record.conflicts.iter().map(|conflict| conflict.other_body.first);
    let ids: BTreeSet<EventId> = events.chain(others).filter(|id| *id != record.entry.id).collect();
    ids.iter().flat_map(|id| *id.as_bytes()).collect()
}

fn add_conflicts(change: &mut Change, record: &IdentityRecord) -> Result<(), Failure> {
    // Later conflicts have greater numbers.
    for (order, conflict) in (0..).zip(&record.conflicts) {
        let other_body = &conflict.other_body;
        let released = conflict.released_as.map(|id| id.as_bytes().to_vec().into());
        let kept = Conflict {
            seen: conflict.seen,
            received_at: other_body.received_at.as_micros(),
            source: other_body.source.to_string(),
            body_bytes: other_body.body.len() as u64,
            order,
            released_as: released,
        };
        conflicts::add(change, other_body, &kept)?;
    }
    Ok(())
}

fn add_event(change: &mut Change, contents: &EventContents) -> Result<(), Failure> {
    let event = &contents.event;
    let id = *event.id.as_bytes();
    let mut fields = Command::new("HSET", event_key(event.id))
        .arg("h")
        .arg(packed::pack(&Head::of_stored(event))?)
        .arg("b")
        .arg(pack_body(&event.headers, &event.body))
        .arg("m")
        .arg(pack_acceptance(contents.accepted_at, contents.generation));
    if let Some(earlier) = contents.same_body_as {
        fields = fields.arg("s").arg(*earlier.as_bytes());
    }
    let indexed: Vec<String> = contents.indexed.iter().map(index_name).collect();
    if !indexed.is_empty() {
        fields = fields.arg("i").arg(packed::pack(&indexed)?);
    }
    for view in &contents.attempts {
        fields = fields.arg(attempt_field(view)).arg(json::write(&view.attempt)?);
    }
    for place in places(contents) {
        fields = fields.arg(format!("y{}", place.to)).number(place.ticket);
    }
    change.then(fields);
    change.then(Command::new("ZADD", "t").number(0).arg(id));
    for name in indexed {
        change.then(Command::new("ZADD", format!("i{name}")).number(0).arg(id));
    }
    for work in &contents.work {
        add_work(change, event.id, work)?;
    }
    for outcome in &contents.outcomes {
        add_outcome(change, event.id, outcome)?;
    }
    Ok(())
}

fn add_work(change: &mut Change, id: EventId, record: &WorkRecord) -> Result<(), Failure> {
    let to = &record.destination;
    let work = Work {
        generation: record.generation.0,
        attempts: record.attempts,
        lost: record.lost,
        token: record.token.0,
        ticket: record.token.0,
        turn: None,
        due: record.due_at.map(Timestamp::as_micros),
        lease: None,
        holder: None,
        stay: stay(record.lane.as_ref()),
        replay: work::job_text(record.replay),
    };
    let field = Command::new("HSET", event_key(id)).arg(format!("w{to}"));
    change.then(field.arg(packed::pack(&work)?));
    let (set, score) = match work.due {
        Some(due) => (format!("{}{to}", work.queue()), due),
        None => (format!("w{to}"), 0),
    };
    change.then(Command::new("ZADD", set).number(score).arg(*id.as_bytes()));
    count(change, &format!("{}:{to}", work.state().as_str()));
    Ok(())
}

fn add_outcome(change: &mut Change, id: EventId, record: &OutcomeRecord) -> Result<(), Failure> {
    let to = &record.destination;
    let error = record.error.map(ErrorClass::as_str);
    let outcome = Outcome {
        state: record.state.as_str().to_owned(),
        attempts: record.attempts,
        lost: record.lost,
        finished: record.finished_at.as_micros(),
        order: record.finished_order,
        generation: record.generation.0,
        error: error.map(str::to_owned),
        ticket: record.token.0,
        stay: stay(record.lane.as_ref()),
        replay: work::job_text(record.replay),
        holds: record.holds_lane.then_some(true),
    };
    let field = Command::new("HSET", event_key(id)).arg(outcome_field(to, record.token));
    change.then(field.arg(packed::pack(&outcome)?));
    let list = match record.state {
        DeliveryState::Dead => "d",
        DeliveryState::Discarded => "g",
        DeliveryState::Pending
        | DeliveryState::Running
        | DeliveryState::Retrying
        | DeliveryState::Completed => return Ok(()),
    };
    if record.is_last {
        let listed = Command::new("ZADD", list).number(record.finished_order);
        change.then(listed.arg(ended_member(id, to, error)));
        if record.state == DeliveryState::Dead {
            count(change, &format!("dead:{to}"));
        }
    }
    Ok(())
}

fn stay(lane: Option<&InLane>) -> Stay {
    Stay::in_lane(lane.map(|lane| &lane.lane), lane.map(|lane| lane.place))
}

fn count(change: &mut Change, what: &str) {
    change.then(Command::new("HINCRBY", "n").arg(what).number(1));
}

/// The positions in lanes: of unfinished deliveries, and of dead ones that hold their lane. The token is the ticket.
pub(super) fn places(contents: &EventContents) -> impl Iterator<Item = Held<'_>> {
    let id = contents.event.id;
    let unfinished = contents.work.iter().map(|work| {
        let is_due = work.due_at.is_some();
        (&work.destination, work.token, work.lane.as_ref(), is_due)
    });
    let holding = contents.outcomes.iter().filter(|outcome| outcome.holds_lane);
    let holding = holding.map(|one| (&one.destination, one.token, one.lane.as_ref(), false));
    unfinished
        .chain(holding)
        .filter_map(move |(to, token, in_lane, is_due)| {
            let InLane { lane, place } = in_lane?;
            Some(Held {
                id,
                to,
                lane: &lane.key,
                place: *place,
                ticket: token.0,
                is_due,
            })
        })
}
