//! Events, newest first. A page looks at a bounded number of rows, whatever the filters: where
//! they let little through, it ends early with a cursor.

use hapax_core::store::{Cursor, EventPage, EventQuery, EventSummary};
use hapax_core::{EventStatus, Identity, Timestamp};
use uuid::Uuid;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::rows::{id_at, key_bucket, key_uuid, time_at};
use crate::session::Session;
use crate::tallies::LEDGER;

/// Events on one page at most, whatever was asked for.
const PAGE_MAX: u32 = 1_000;
/// Scopes tried for a sender's id.
const SCOPES_MAX: i64 = 10_000;

const SCOPES: &str = "
    SELECT DISTINCT scope FROM hapax.tallies WHERE kind = $1::int2 LIMIT $2::int8";

const IDS: &str = "
    SELECT l.bucket, l.id FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, key)
    JOIN hapax.ledger l ON l.bucket = n.bucket AND l.key = n.key
    UNION
    SELECT r.bucket, r.id FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, key)
    JOIN hapax.earlier r ON r.bucket = n.bucket AND r.key = n.key";

/// What has become of an event `e`, as a place in [`EventStatus::ALL`].
const STATUS: &str = "
    CASE WHEN EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = e.bucket AND w.id = e.id)
         THEN CASE WHEN EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = e.bucket AND w.id = e.id
                                AND w.attempts > CASE WHEN w.state = 1 THEN 1 ELSE 0 END) THEN 1 ELSE 0 END
         WHEN EXISTS (SELECT 1 FROM hapax.outcomes o WHERE o.bucket = e.bucket AND o.id = e.id
                      AND o.is_current AND o.state = 4) THEN 2
         WHEN EXISTS (SELECT 1 FROM hapax.outcomes o WHERE o.bucket = e.bucket AND o.id = e.id
                      AND o.is_current) THEN 3
         ELSE 4 END";

/// A query and where to go on, with the store's limit.
pub(crate) struct Page {
    pub(crate) query: EventQuery,
    pub(crate) after: Option<Cursor>,
    pub(crate) limit: u32,
    pub(crate) scan_max: usize,
}

/// One page.
pub(crate) async fn list(session: &Session, page: &Page) -> Result<EventPage, Failure> {
    session.begin_reading().await?;
    let found = match &page.query.event_id {
        Some(event_id) => by_event_id(session, page, event_id).await?,
        None => by_number(session, page).await?,
    };
    session.commit().await?;
    Ok(found)
}

/// Looks at the newest rows before the cursor. What is unfinished or dead is few beside everything
/// stored: only such rows are looked at when they are asked for.
async fn by_number(session: &Session, page: &Page) -> Result<EventPage, Failure> {
    let among = match page.query.status {
        Some(EventStatus::Pending | EventStatus::Failed) => {
            "EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = e.bucket AND w.id = e.id)"
        }
        Some(EventStatus::Dead) => {
            "EXISTS (SELECT 1 FROM hapax.outcomes o WHERE o.bucket = e.bucket AND o.id = e.id
                     AND o.is_current AND o.state = 4 AND o.state >= 4)"
        }
        Some(EventStatus::Completed | EventStatus::Ignored) | None => "true",
    };
    let before = page.after.map_or(i64::MAX, |Cursor(number)| {
        i64::try_from(number).unwrap_or(i64::MAX)
    });
    let scan = format!(
        "SELECT e.no FROM hapax.events e
         WHERE e.no < $1::int8 AND ($3::int8 IS NULL OR e.received_at >= $3::int8)
           AND ($4::int8 IS NULL OR e.received_at < $4::int8) AND {among}
         ORDER BY e.no DESC LIMIT $2::int8"
    );
    let scan_max = page.scan_max.max(1) as i64;
    let since = page.query.since.map(Timestamp::as_micros);
    let until = page.query.until.map(Timestamp::as_micros);
    let sql = format!(
        "SELECT {SUMMARY}, {STATUS} FROM hapax.events e
         WHERE e.no IN ({scan}) AND {FILTER} AND ($8::int4 IS NULL OR {STATUS} = $8::int4)
         ORDER BY e.no DESC LIMIT $9::int8"
    );
    let filter = Filter::of(&page.query);
    let limit = page.limit.min(PAGE_MAX) as usize;
    let rows = session
        .rows_of(
            &sql,
            bind![
                before,
                scan_max,
                since,
                until,
                filter.source,
                filter.exact,
                filter.prefix,
                filter.status,
                limit as i64 + 1,
            ],
        )
        .await?;
    let mut events = Vec::with_capacity(limit);
    for row in rows.iter().take(limit) {
        events.push(summary_at(row)?);
    }
    if rows.len() > limit {
        let next = rows
            .get(limit.saturating_sub(1))
            .map(|row| row.try_get::<_, i64>(0))
            .transpose()?;
        return Ok(EventPage {
            events,
            next: next.map(|number| Cursor(number as u64)),
        });
    }
    // Fewer than asked for: the end, unless there was more than one page looks at.
    let sql = format!("SELECT min(s.no), count(*) FROM ({scan}) AS s");
    let scanned = session
        .rows_of(&sql, bind![before, scan_max, since, until])
        .await?;
    let mut next = None;
    if let Some(row) = scanned.first()
        && row.try_get::<_, i64>(1)? >= scan_max
    {
        next = row.try_get::<_, Option<i64>>(0)?;
    }
    Ok(EventPage {
        events,
        next: next.map(|number| Cursor(number as u64)),
    })
}

/// A sender's id is looked up in the ledger, in every scope there is. Few events have it: one page.
async fn by_event_id(session: &Session, page: &Page, event_id: &str) -> Result<EventPage, Failure> {
    let scopes = session.rows(SCOPES, bind![LEDGER, SCOPES_MAX]).await?;
    let mut buckets = Column::<i16>::default();
    let mut keys = Column::<Uuid>::default();
    for row in &scopes {
        let key = Identity::new(row.try_get::<_, &str>(0)?, event_id).key();
        buckets.push(key_bucket(key));
        keys.push(key_uuid(key));
    }
    let found = session.rows(IDS, bind![buckets, keys]).await?;
    let mut buckets = Column::<i16>::default();
    let mut ids = Column::<Uuid>::default();
    for row in &found {
        buckets.push(row.try_get(0)?);
        ids.push(row.try_get(1)?);
    }
    let before = page.after.map_or(i64::MAX, |Cursor(number)| {
        i64::try_from(number).unwrap_or(i64::MAX)
    });
    let sql = format!(
        "SELECT {SUMMARY}, {STATUS} FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, id)
         JOIN hapax.events e ON e.bucket = n.bucket AND e.id = n.id
         WHERE ($3::int8 IS NULL OR e.received_at >= $3::int8) AND ($4::int8 IS NULL OR e.received_at < $4::int8)
           AND {FILTER} AND ($8::int4 IS NULL OR {STATUS} = $8::int4)
           AND e.no < $9::int8
         ORDER BY e.no DESC LIMIT $10::int8"
    );
    let filter = Filter::of(&page.query);
    let limit = page.limit.min(PAGE_MAX) as usize;
    let rows = session
        .rows_of(
            &sql,
            bind![
                buckets,
                ids,
                page.query.since.map(Timestamp::as_micros),
                page.query.until.map(Timestamp::as_micros),
                filter.source,
                filter.exact,
                filter.prefix,
                filter.status,
                before,
                limit as i64 + 1,
            ],
        )
        .await?;
    let mut result = EventPage::default();
    for row in rows.iter().take(limit) {
        result.events.push(summary_at(row)?);
        result.next = Some(Cursor(row.try_get::<_, i64>(0)? as u64));
    }
    if rows.len() <= limit {
        result.next = None;
    }
    Ok(result)
}

/// The columns that [`summary_at`] reads, before the status.
const SUMMARY: &str = "e.no, e.id, e.source, e.event_id, e.type, e.received_at, octet_length(e.body)::int8";

/// Source, type and prefix of the type.
const FILTER: &str = "
    ($5::text IS NULL OR e.source = $5::text) AND ($6::text IS NULL OR e.type = $6::text)
    AND ($7::text IS NULL OR starts_with(e.type, $7::text))";

struct Filter<'q> {
    source: Option<&'q str>,
    exact: Option<&'q str>,
    prefix: Option<&'q str>,
    status: Option<i32>,
}

impl<'q> Filter<'q> {
    fn of(query: &'q EventQuery) -> Self {
        let pattern = query.event_type.as_deref();
        let prefix = pattern.and_then(|pattern| pattern.strip_suffix('*'));
        Self {
            source: query.source.as_ref().map(hapax_core::SourceName::as_str),
            exact: pattern.filter(|_| prefix.is_none()),
            prefix,
            status: query.status.and_then(|status| {
                let place = EventStatus::ALL.iter().position(|known| *known == status)?;
                i32::try_from(place).ok()
            }),
        }
    }
}

fn summary_at(row: &tokio_postgres::Row) -> Result<EventSummary, Failure> {
    let status: i32 = row.try_get(7)?;
    Ok(EventSummary {
        id: id_at(row, 1)?,
        source: row.try_get::<_, &str>(2)?.into(),
        event_id: row.try_get(3)?,
        event_type: row.try_get(4)?,
        received_at: time_at(row, 5)?,
        status: *usize::try_from(status)
            .ok()
            .and_then(|place| EventStatus::ALL.get(place))
            .ok_or_else(|| Failure::Unreadable(format!("{status} is no status")))?,
        body_bytes: row.try_get::<_, i64>(6)? as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statement counts statuses in this order.
    #[test]
    fn statuses_keep_their_places() {
        assert_eq!(
            EventStatus::ALL,
            [
                EventStatus::Pending,
                EventStatus::Failed,
                EventStatus::Dead,
                EventStatus::Completed,
                EventStatus::Ignored
            ]
        );
    }
}
