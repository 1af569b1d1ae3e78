//! The range of numbers that can hold the events of a time range.
//!
//! Numbers follow the order of acceptance, and an event is accepted moments after it was received. So the numbers for a
//! time are found by binary search, and a search for the last hour never reads older events. Clocks of replicas may
//! disagree by [`SLACK`]; a host that is further off could not check a signature's timestamp either.

use std::time::Duration;

use hapax_core::Timestamp;
use hapax_core::store::ListOrder;

use super::Page;
use crate::bind::bind;
use crate::failure::Failure;
use crate::session::Session;

/// How much the order of acceptance may differ from the order of arrival.
const SLACK: Duration = Duration::from_secs(3_600);
/// A range this small is not worth halving.
const NEAR: i64 = 1_024;

const ENDS: &str =
    "SELECT coalesce(min(e.no), 0), coalesce(max(e.no), 0) FROM hapax.events e /* every bucket */";

const FROM: &str = "
    SELECT e.no, e.received_at FROM hapax.events e /* every bucket */ WHERE e.no >= $1::int8 ORDER BY e.no LIMIT 1";

/// A half-open range of numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) from: i64,
    pub(super) before: i64,
}

impl Range {
    /// The rest of the range once a list has reached a number.
    pub(super) const fn after(self, number: i64, order: ListOrder) -> Self {
        match order {
            ListOrder::NewestFirst => Self {
                before: number,
                ..self
            },
            ListOrder::OldestFirst => Self {
                from: number + 1,
                ..self
            },
        }
    }

    /// The range that can hold the events of a page.
    pub(super) async fn of(session: &Session, page: &Page) -> Result<Self, Failure> {
        let mut range = page.rest();
        let (since, until) = (page.query.since, page.query.until);
        if since.is_none() && until.is_none() {
            return Ok(range);
        }
        let row = session.one(ENDS, &[]).await?;
        let all = (row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)? + 1);
        if let Some(since) = since {
            let (below, _) = border(session, since.minus(SLACK), all).await?;
            range.from = range.from.max(below);
        }
        if let Some(until) = until {
            let (_, above) = border(session, until.plus(SLACK), all).await?;
            range.before = range.before.min(above);
        }
        Ok(range)
    }
}

/// Two numbers: every event below the first was received before `moment`, and every event from the second on was not.
async fn border(
    session: &Session,
    moment: Timestamp,
    (mut low, mut high): (i64, i64),
) -> Result<(i64, i64), Failure> {
    while high - low > NEAR {
        let middle = low + (high - low) / 2;
        let found = session.rows(FROM, bind![middle]).await?;
        let is_before = match found.first() {
            Some(row) => row.try_get::<_, i64>(1)? < moment.as_micros(),
            None => false,
        };
        if is_before {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok((low, high))
}
