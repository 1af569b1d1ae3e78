//! Listing events, newest or oldest first. A page reads a bounded number of rows whatever the filters are: if few rows
//! match, it ends early with a cursor.

mod fits;
mod kinds;
mod trails;
mod ways;

use hapax_core::store::{Cursor, EventPage, EventQuery, ListOrder};
use hapax_core::{EventId, Timestamp};
use rusqlite::Connection;

use crate::desk::read_skew_ms;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use fits::Reading;

/// The maximum number of events per page, whatever the caller asks for.
const PAGE_MAX: u32 = 1_000;

pub(crate) fn list(
    desk: &mut ReadDesk,
    query: &EventQuery,
    after: Option<Cursor>,
    limit: u32,
) -> Result<EventPage, Failure> {
    let range = range(&desk.connection, query, after)?;
    let mut trails = ways::choose(desk, query, range)?;
    let limit = limit.min(PAGE_MAX) as usize;
    let mut reading = Reading::default();
    let mut page = EventPage::default();
    let mut last = None;
    let mut looked_at = 0;
    while let Some(seq) = trails.next(&desk.connection)? {
        if page.events.len() == limit || looked_at == desk.list_scan_max || reading.is_spent() {
            page.next = last;
            break;
        }
        looked_at += 1;
        if let Some(summary) = fits::fitting(desk, query, seq, &mut reading)? {
            page.events.push(summary);
        }
        last = Some(Cursor(seq as u64));
    }
    page.bodies_read = match query.by_index {
        Some(_) => 0,
        None => reading.bodies,
    };
    Ok(page)
}

/// The range of rows that can hold matching events.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: i64,
    before: i64,
}

impl Range {
    /// The rest of the range once a list has reached a row.
    const fn after(self, row: i64, order: ListOrder) -> Self {
        match order {
            ListOrder::NewestFirst => Self { before: row, ..self },
            ListOrder::OldestFirst => Self {
                from: row + 1,
                ..self
            },
        }
    }
}

fn range(connection: &Connection, query: &EventQuery, after: Option<Cursor>) -> Result<Range, Failure> {
    let slack = std::time::Duration::from_millis(read_skew_ms(connection)?.saturating_add(1));
    let from = query
        .since
        .map_or(0, |since| EventId::order_at(since.minus(slack)) as i64);
    let until = query.until.map_or(i64::MAX, |until| {
        i64::try_from(EventId::order_at(until.plus(slack).min(FAR))).unwrap_or(i64::MAX)
    });
    let cursor = after.map(|Cursor(seq)| i64::try_from(seq).unwrap_or(i64::MAX - 1));
    let all = Range { from, before: until };
    Ok(match (cursor, query.order) {
        (None, _) => all,
        (Some(cursor), ListOrder::NewestFirst) => all.after(cursor.min(until), query.order),
        (Some(cursor), ListOrder::OldestFirst) => all.after(cursor.max(from - 1), query.order),
    })
}

/// Later than any event; its order still fits a row number.
const FAR: Timestamp = Timestamp::from_seconds(8_000_000_000);
