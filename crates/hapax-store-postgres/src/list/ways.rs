//! Choosing the index for a list: the one likely to yield the fewest events that do not match.

use hapax_core::store::{EventQuery, Has, IndexedValue, ListOrder};
use hapax_core::{DestinationId, ErrorClass, EventStatus, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Page;
use super::found::{Filter, Found, found_columns, in_time};
use super::range::Range;
use crate::batch::Batch;
use crate::bind::{Param, bind};
use crate::failure::Failure;
use crate::noted::Noted;
use crate::session::Session;

/// Some rows between two numbers, from either end.
struct Scan {
    newest_first: &'static str,
    oldest_first: &'static str,
}

macro_rules! scan {
    ($from:literal, $among:literal) => {
        Scan {
            newest_first: scan!($from, $among, " DESC LIMIT $2::int8"),
            oldest_first: scan!($from, $among, " LIMIT $2::int8"),
        }
    };
    ($from:literal, $among:literal, $end:literal) => {
        concat!(
            "SELECT ",
            found_columns!(),
            " FROM ",
            $from,
            " /* every bucket */ WHERE ",
            in_time!(),
            " AND ",
            $among,
            $end
        )
    };
}

/// Events of this batch between two numbers.
macro_rules! few {
    ($end:literal) => {
        concat!(
            "SELECT ",
            found_columns!(),
            " FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id WHERE ",
            in_time!(),
            " AND e.no >= $8::int8 AND e.no < $9::int8 ORDER BY e.no + 0",
            $end
        )
    };
}

const ALL: Scan = scan!(
    "hapax.events e",
    "e.no < $1::int8 AND e.no >= $8::int8 ORDER BY e.no"
);

// Sorted after they were found by source: if it walked by number, the server might read everything. `e.no + 0` is in no
// index.
const OF_SOURCE: Scan = scan!(
    "hapax.events e",
    "e.source = $5::text AND e.no + 0 < $1::int8 AND e.no + 0 >= $8::int8 ORDER BY e.no + 0"
);

const UNFINISHED: Scan = scan!(
    "hapax.events e",
    "e.no < $1::int8 AND e.no >= $8::int8
      AND EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = e.bucket AND w.id = e.id) ORDER BY e.no"
);

// Each by its key, then sorted.
const FEW: Scan = Scan {
    newest_first: few!(" DESC LIMIT $10::int8"),
    oldest_first: few!(" LIMIT $10::int8"),
};

const DEAD: Scan = scan!(
    "hapax.events e",
    "e.no < $1::int8 AND e.no >= $8::int8
      AND EXISTS (SELECT 1 FROM hapax.outcomes o WHERE o.bucket = e.bucket AND o.id = e.id
                    AND o.is_current AND o.state = 4 AND o.state >= 4
                    AND ($9::text IS NULL OR o.destination = $9::text)
                    AND ($10::text IS NULL OR o.error = $10::text)) ORDER BY e.no"
);

const NOTED: Scan = scan!(
    "hapax.noted n JOIN hapax.events e ON e.bucket = n.bucket AND e.id = n.id",
    "n.what = $9::int2 AND n.no < $1::int8 AND n.no >= $8::int8 ORDER BY n.no"
);

const INDEXED: Scan = scan!(
    "hapax.indexed n JOIN hapax.events e ON e.bucket = n.bucket AND e.id = n.id",
    "n.pointer = $9::text AND n.digest = $10::int8 AND n.no < $1::int8 AND n.no >= $8::int8 ORDER BY n.no"
);

const HOW_MANY: &str = "
    SELECT count(*) FROM (SELECT 1 FROM hapax.events e /* every bucket */
                          WHERE e.source = $1::text AND ($2::int8 IS NULL OR e.received_at >= $2::int8)
                            AND ($3::int8 IS NULL OR e.received_at < $3::int8) LIMIT $4::int8) AS few";

const UNFINISHED_WORK: &str = "SELECT w.bucket, w.id FROM hapax.work w /* every bucket */ LIMIT $1::int8";

// An attempt has ended; the running one has not.
const FAILED_WORK: &str = "
    SELECT w.bucket, w.id FROM hapax.work w /* every bucket */
    WHERE w.attempts > CASE WHEN w.state = 1 THEN 1 ELSE 0 END LIMIT $1::int8";

/// A way to walk events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// All events.
    All,
    /// Events of the requested source, which has few.
    OfSource,
    /// Events with unfinished deliveries.
    Unfinished,
    /// These events, by bucket and id: with many events and few deliveries, the server would read all events, since it
    /// does not know how few deliveries there are.
    Few(Vec<(i16, Uuid)>),
    /// Events with a dead delivery, to this destination and for this reason.
    Dead(Option<DestinationId>, Option<ErrorClass>),
    /// Events with a rare property.
    Noted(Noted),
    /// Events with this indexed value.
    Indexed(IndexedValue),
}

impl Way {
    pub(super) async fn choose(session: &Session, page: &Page) -> Result<Self, Failure> {
        let query = &page.query;
        if let Some(value) = query.indexed_value() {
            return Ok(Self::Indexed(value));
        }
        if query.error.is_some() {
            return Ok(Self::Dead(query.to.clone(), query.error));
        }
        if query.status == Some(EventStatus::Held) {
            return Ok(Self::Dead(None, Some(ErrorClass::SameBody)));
        }
        if query.status == Some(EventStatus::Dead) {
            // The dead delivery need not be the one to the requested destination.
            return Ok(Self::Dead(None, None));
        }
        if let Some(Has::Conflict) = query.has {
            return Ok(Self::Noted(Noted::Conflict));
        }
        if query.duplicates.is_some_and(|count| count.min > 0) {
            return Ok(Self::Noted(Noted::Duplicates));
        }
        match query.status {
            Some(EventStatus::Pending) => unfinished(session, UNFINISHED_WORK, page.scan_max).await,
            Some(EventStatus::Failed) => unfinished(session, FAILED_WORK, page.scan_max).await,
            Some(
                EventStatus::Completed
                | EventStatus::Ignored
                | EventStatus::Quarantined
                | EventStatus::Dead
                | EventStatus::Held,
            )
            | None
                if is_rare(session, query, page.scan_max).await? =>
            {
                Ok(Self::OfSource)
            }
            Some(
                EventStatus::Completed
                | EventStatus::Ignored
                | EventStatus::Quarantined
                | EventStatus::Dead
                | EventStatus::Held,
            )
            | None => Ok(Self::All),
        }
    }

    /// The next rows of a range.
    pub(super) async fn scan(
        &self,
        session: &Session,
        page: &Page,
        range: Range,
        count: usize,
    ) -> Result<Vec<Found>, Failure> {
        let filter = Filter::of(&page.query);
        let (since, until) = times(&page.query);
        let count = count as i64;
        let common: &[Param<'_>] = bind![
            range.before,
            count,
            since,
            until,
            filter.source,
            filter.exact,
            filter.prefix,
            range.from
        ];
        let from_end = |scan: Scan| match page.query.order {
            ListOrder::NewestFirst => scan.newest_first,
            ListOrder::OldestFirst => scan.oldest_first,
        };
        let rows = match self {
            Self::All => session.rows(from_end(ALL), common).await?,
            Self::OfSource => session.rows(from_end(OF_SOURCE), common).await?,
            Self::Unfinished => session.rows(from_end(UNFINISHED), common).await?,
            Self::Few(events) => {
                let batch = Batch::in_buckets(events.iter().map(|(bucket, _)| *bucket))
                    .column("id", events.iter().map(|(_, id)| *id))
                    .value(since)
                    .value(until)
                    .value(filter.source)
                    .value(filter.exact)
                    .value(filter.prefix)
                    .value(range.from)
                    .value(range.before)
                    .value(count);
                let rows = session.over(from_end(FEW), &batch).await?;
                return first(&rows, page.query.order, count);
            }
            Self::Dead(to, error) => {
                let to = to.as_ref().map(DestinationId::as_str);
                let error = error.map(ErrorClass::as_str);
                session
                    .rows(from_end(DEAD), &[common, bind![to, error]].concat())
                    .await?
            }
            Self::Noted(what) => {
                session
                    .rows(from_end(NOTED), &[common, bind![what.code()]].concat())
                    .await?
            }
            Self::Indexed(value) => {
                let (pointer, digest) = (value.pointer.as_str(), value.digest);
                let params = [common, bind![pointer, digest]].concat();
                session.rows(from_end(INDEXED), &params).await?
            }
        };
        rows.iter().map(Found::read).collect()
    }
}

/// Whether the requested source has so few events that all of them can be read.
async fn is_rare(session: &Session, query: &EventQuery, scan_max: usize) -> Result<bool, Failure> {
    let Some(source) = &query.source else {
        return Ok(false);
    };
    let (since, until) = times(query);
    let most = scan_max as i64 + 1;
    let row = session
        .one(HOW_MANY, bind![source.as_str(), since, until, most])
        .await?;
    Ok(row.try_get::<_, i64>(0)? < most)
}

/// The way along unfinished deliveries: by key, if they are few enough to read all of them.
async fn unfinished(session: &Session, work: &'static str, scan_max: usize) -> Result<Way, Failure> {
    let most = scan_max + 1;
    let rows = session.rows(work, bind![most as i64]).await?;
    if rows.len() == most {
        return Ok(Way::Unfinished);
    }
    let mut events = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    events.sort_unstable();
    events.dedup();
    Ok(Way::Few(events))
}

/// The first rows. If buckets were queried one by one, each returned its own.
fn first(rows: &[Row], order: ListOrder, count: i64) -> Result<Vec<Found>, Failure> {
    let mut found = rows.iter().map(Found::read).collect::<Result<Vec<_>, _>>()?;
    found.sort_unstable_by_key(|one| one.number);
    match order {
        ListOrder::NewestFirst => found.reverse(),
        ListOrder::OldestFirst => {}
    }
    found.truncate(count as usize);
    Ok(found)
}

fn times(query: &EventQuery) -> (Option<i64>, Option<i64>) {
    (
        query.since.map(Timestamp::as_micros),
        query.until.map(Timestamp::as_micros),
    )
}
