//! The range of ids that can hold the events of a time range.
//!
//! An id carries the host's time of acceptance, and an event is accepted moments after it was received. Clocks of
//! replicas may disagree by [`SLACK`]; a host that is further off could not check a signature's timestamp either.

use std::time::Duration;

use hapax_core::store::{Cursor, EventQuery, ListOrder};
use hapax_core::{EventId, Timestamp};

use crate::snapshot::Command;

/// How much the order of acceptance may differ from the order of arrival.
const SLACK: Duration = Duration::from_secs(3_600);
/// Later than any event; its order still fits a number.
const FAR: Timestamp = Timestamp::from_seconds(8_000_000_000);

/// A half-open range of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    from: u64,
    before: u64,
}

impl Range {
    /// The range that can hold the events of a page.
    pub(super) fn of(query: &EventQuery, after: Option<Cursor>) -> Self {
        let order = |moment: Timestamp| EventId::order_at(moment.min(FAR));
        let all = Self {
            from: query.since.map_or(0, |since| order(since.minus(SLACK))),
            before: query.until.map_or(u64::MAX, |until| order(until.plus(SLACK))),
        };
        after.map_or(all, |Cursor(last)| all.after(last, query.order))
    }

    /// The rest of the range once a list has reached an order.
    pub(super) fn after(self, last: u64, order: ListOrder) -> Self {
        match order {
            ListOrder::NewestFirst => Self {
                before: self.before.min(last),
                ..self
            },
            ListOrder::OldestFirst => Self {
                from: self.from.max(last.saturating_add(1)),
                ..self
            },
        }
    }

    pub(super) fn contains(self, id: EventId) -> bool {
        (self.from..self.before).contains(&id.order())
    }

    /// The command that reads the first members of a sorted set in the range.
    pub(super) fn first(self, set: &[u8], order: ListOrder, count: usize) -> Command {
        let before = match self.before {
            u64::MAX => b"+".to_vec(),
            order => [b"(", &EventId::least_of(order).as_bytes()[..]].concat(),
        };
        let from = match self.from {
            0 => b"-".to_vec(),
            order => [b"[", &EventId::least_of(order).as_bytes()[..]].concat(),
        };
        let between = match order {
            ListOrder::NewestFirst => Command::new("ZREVRANGEBYLEX", set).arg(before).arg(from),
            ListOrder::OldestFirst => Command::new("ZRANGEBYLEX", set).arg(from).arg(before),
        };
        between.arg("LIMIT").number(0).number(count)
    }
}
