//! Lanes under replay: a requeued delivery waits at the position of its acceptance, and a bulk replay requeues the
//! oldest first.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::DestinationId;
use hapax_core::store::{LOST_MAX, ReplayJobId};

use super::Violation;
use crate::history::{AttemptEnd, Delivery, Entry, Fact};
use crate::rule::Rule;
use crate::world::IN_ORDER;

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut lanes = Lanes::default();
    let mut violations = Vec::new();
    for (moment, entry) in history.iter().enumerate() {
        let broken = lanes.note(moment, &entry.fact);
        violations.extend(broken.map(|what| Violation::new(Rule::ReplayOutOfOrder, entry, what)));
    }
    violations
}

/// An event's delivery in its lane.
struct Member<'a> {
    lane: &'a str,
    /// When it was accepted, and when it began to wait, as positions in the history.
    accepted: usize,
    waits_since: usize,
    /// When it was first leased since then.
    leased: Option<usize>,
}

#[derive(Default)]
struct Lanes<'a> {
    members: BTreeMap<&'a str, Member<'a>>,
    /// Everything unfinished, in a lane or not.
    unfinished: BTreeSet<(&'a str, &'a DestinationId)>,
    /// The events each job requeued, and those that were unfinished at the time, which it could not requeue.
    put_back: BTreeMap<ReplayJobId, Vec<(&'a str, BTreeSet<&'a str>)>>,
}

impl<'a> Lanes<'a> {
    fn note(&mut self, moment: usize, fact: &'a Fact) -> Option<String> {
        match fact {
            Fact::Stored { event, lane, to, .. } => {
                self.store(event, lane.as_deref(), moment);
                self.unfinished.extend(to.iter().map(|to| (event.as_str(), to)));
            }
            Fact::PutBack { delivery, job } => {
                let broken = is_in_order(delivery).then(|| self.put_back(&delivery.event, *job, moment));
                self.unfinished.insert((&delivery.event, &delivery.destination));
                return broken.flatten();
            }
            Fact::Leased { delivery, .. } if is_in_order(delivery) => return self.lease(delivery, moment),
            Fact::Finished {
                delivery,
                verdict: AttemptEnd::Completed | AttemptEnd::Dead,
                ..
            } => self.end(delivery),
            Fact::Rescued { delivery, lost } if *lost >= LOST_MAX => self.end(delivery),
            _ => {}
        }
        None
    }

    fn store(&mut self, event: &'a str, lane: Option<&'a str>, moment: usize) {
        let Some(lane) = lane else { return };
        self.members.entry(event).or_insert(Member {
            lane,
            accepted: moment,
            waits_since: moment,
            leased: None,
        });
    }

    /// An event accepted later that the same job had requeued before, if any.
    fn put_back(&mut self, event: &'a str, job: Option<ReplayJobId>, moment: usize) -> Option<String> {
        let member = self.members.get_mut(event)?;
        member.waits_since = moment;
        member.leased = None;
        let (lane, accepted) = (member.lane, member.accepted);
        let unfinished = self.unfinished.iter().map(|(event, _)| *event).collect();
        let before = self.put_back.entry(job?).or_default();
        let is_later = |other: &str| {
            let other = self.members.get(other);
            other.is_some_and(|other| other.lane == lane && other.accepted > accepted)
        };
        let overtook = before
            .iter()
            .find(|(other, unfinished)| is_later(other) && !unfinished.contains(event))
            .map(|(other, _)| format!("{other} was put back before {event}, which was accepted earlier"));
        before.push((event, unfinished));
        overtook
    }

    /// A waiting event that was accepted earlier, if any. A delivery leased before that one began to wait keeps its
    /// turn.
    fn lease(&mut self, delivery: &'a Delivery, moment: usize) -> Option<String> {
        let member = self.members.get_mut(delivery.event.as_str())?;
        let first = *member.leased.get_or_insert(moment);
        let (lane, accepted) = (member.lane, member.accepted);
        let waits = |event: &str| self.unfinished.contains(&(event, &delivery.destination));
        let overtaken = self.members.iter().find(|(event, other)| {
            other.lane == lane && other.accepted < accepted && other.waits_since < first && waits(event)
        });
        overtaken
            .map(|(other, _)| format!("{delivery} was leased before {other}, which was accepted earlier"))
    }

    fn end(&mut self, delivery: &'a Delivery) {
        self.unfinished
            .remove(&(delivery.event.as_str(), &delivery.destination));
    }
}

fn is_in_order(delivery: &Delivery) -> bool {
    delivery.destination.as_str() == IN_ORDER
}
