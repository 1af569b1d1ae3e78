//! Events, newest first. A page looks at a bounded number of rows, whatever the filters: where
//! they let little through, it ends early with a cursor.

use hapax_core::store::{Cursor, EventPage, EventQuery, EventSummary};
use hapax_core::{EventId, EventStatus, Identity, Timestamp};
use rusqlite::Connection;

use crate::desk::{find_event, read_skew_ms};
use crate::duplicates;
use crate::failure::Failure;
use crate::forget::earlier;
use crate::get::status;
use crate::look_up::{self, Holder};
use crate::reader::ReadDesk;
use crate::rows::{id_at, time_at};

/// Events on one page at most, whatever was asked for.
const PAGE_MAX: u32 = 1_000;
/// Scopes tried for a sender's id.
const SCOPES_MAX: u32 = 10_000;

/// One page.
pub(crate) fn list(
    desk: &mut ReadDesk,
    query: &EventQuery,
    after: Option<Cursor>,
    limit: u32,
) -> Result<EventPage, Failure> {
    let range = range(&desk.connection, query, after)?;
    let rows = match &query.event_id {
        Some(event_id) => by_event_id(desk, event_id, &range)?,
        None => by_order(&desk.connection, query.status, &range, desk.list_scan_max)?,
    };
    let limit = limit.min(PAGE_MAX) as usize;
    let mut page = EventPage::default();
    let mut looked_at = 0;
    for seq in &rows {
        if page.events.len() >= limit {
            break;
        }
        looked_at += 1;
        if let Some(summary) = fitting(desk, query, *seq)? {
            page.events.push(summary);
        }
        page.next = Some(Cursor(*seq as u64));
    }
    // Everything was looked at, and there was less than could have been: this was the end.
    if looked_at == rows.len() && (rows.len() < desk.list_scan_max || query.event_id.is_some()) {
        page.next = None;
    }
    Ok(page)
}

/// The rows in which fitting events can be.
struct Range {
    from: i64,
    before: i64,
}

fn range(connection: &Connection, query: &EventQuery, after: Option<Cursor>) -> Result<Range, Failure> {
    let slack = std::time::Duration::from_millis(read_skew_ms(connection)?.saturating_add(1));
    let from = query
        .since
        .map_or(0, |since| EventId::order_at(since.minus(slack)) as i64);
    let until = query.until.map_or(i64::MAX, |until| {
        i64::try_from(EventId::order_at(until.plus(slack).min(FAR))).unwrap_or(i64::MAX)
    });
    let cursor = after.map_or(i64::MAX, |Cursor(seq)| i64::try_from(seq).unwrap_or(i64::MAX));
    Ok(Range {
        from,
        before: until.min(cursor),
    })
}

/// Later than any event; its order still fits a row number.
const FAR: Timestamp = Timestamp::from_seconds(8_000_000_000);

fn by_order(
    connection: &Connection,
    wanted: Option<EventStatus>,
    range: &Range,
    scan_max: usize,
) -> Result<Vec<i64>, Failure> {
    // What is unfinished or dead is found where it lies; it is few beside everything stored.
    let sql = match wanted {
        Some(EventStatus::Pending | EventStatus::Failed) => {
            "SELECT DISTINCT seq FROM work WHERE seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3"
        }
        Some(EventStatus::Dead) => {
            "SELECT DISTINCT seq FROM outcomes INDEXED BY outcomes_dead
             WHERE current = 1 AND state = 4 AND seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3"
        }
        Some(EventStatus::Completed | EventStatus::Ignored | EventStatus::Quarantined) | None => {
            "SELECT seq FROM events WHERE seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3"
        }
    };
    let mut select = connection.prepare_cached(sql)?;
    let found = select.query_map((range.from, range.before, scan_max as i64), |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// A sender's id is looked up in the ledger, in every scope there is.
fn by_event_id(desk: &mut ReadDesk, event_id: &str, range: &Range) -> Result<Vec<i64>, Failure> {
    let mut scopes = desk
        .connection
        .prepare_cached("SELECT scope FROM tallies WHERE scope > 0 LIMIT ?1")?;
    let scopes: Vec<i64> = scopes
        .query_map([SCOPES_MAX], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for scope in scopes {
        let scope = desk.names.named(&desk.connection, scope)?.scope.clone();
        let key = Identity::new(scope, event_id).key();
        let mut ids = earlier(&desk.connection, key)?;
        match look_up::holder(&desk.connection, &mut desk.names, key)? {
            Some(Holder::Event(entry)) => ids.push(entry.id),
            Some(Holder::Forgotten { last, .. }) => ids.push(last),
            None => {}
        }
        for id in ids {
            if let Some(seq) = find_event(&desk.connection, id)?
                && (range.from..range.before).contains(&seq)
            {
                found.push(seq);
            }
        }
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.dedup();
    Ok(found)
}

fn fitting(desk: &mut ReadDesk, query: &EventQuery, seq: i64) -> Result<Option<EventSummary>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT id, source, event_id, type, received_at, length(body), scope FROM events WHERE seq = ?1",
    )?;
    let mut rows = select.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let source = desk.names.named(&desk.connection, row.get(1)?)?.source.clone();
    let event_type: Option<String> = row.get(3)?;
    let received_at = time_at(row, 4)?;
    let fits = query.source.as_ref().is_none_or(|wanted| *wanted == source)
        && query.fits_type(event_type.as_deref())
        && query.since.is_none_or(|since| received_at >= since)
        && query.until.is_none_or(|until| received_at < until);
    if !fits {
        return Ok(None);
    }
    let event_id: String = row.get(2)?;
    let status = status(&desk.connection, seq, &event_id)?;
    if query.status.is_some_and(|wanted| wanted != status) {
        return Ok(None);
    }
    let scope = desk.names.named(&desk.connection, row.get(6)?)?.scope.clone();
    let key = Identity::new(scope, event_id.as_str()).key();
    Ok(Some(EventSummary {
        id: id_at(row, 0)?,
        source,
        event_id,
        event_type,
        received_at,
        status,
        body_bytes: row.get::<_, i64>(5)? as u64,
        copies: duplicates::count(&desk.connection, key)?,
    }))
}
