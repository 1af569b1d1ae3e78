//! Events, newest first. A page looks at a bounded number of rows, whatever the filters: where
//! they let little through, it ends early with a cursor.

mod copies;
mod found;
mod named;
mod status;

use futures_util::future::join;
use hapax_core::store::{Cursor, EventPage, EventQuery};
use hapax_core::{EventStatus, Timestamp};

use crate::bind::bind;
use crate::failure::Failure;
use crate::session::Session;
use found::{Filter, Found, found_columns, in_time};

/// Events on one page at most, whatever was asked for.
const PAGE_MAX: u32 = 1_000;
/// Rows looked at in one statement, once the first of them did not fill the page.
const CHUNK: usize = 1_000;

/// The newest rows before a number, among some.
macro_rules! scan {
    ($among:literal) => {
        concat!(
            "SELECT ",
            found_columns!(),
            " FROM hapax.events e /* every bucket */ WHERE e.no < $1::int8 AND ",
            in_time!(),
            $among,
            " ORDER BY e.no DESC LIMIT $2::int8"
        )
    };
}

const ALL: &str = scan!("");
const UNFINISHED: &str =
    scan!(" AND EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = e.bucket AND w.id = e.id)");
const DEAD: &str = scan!(
    " AND EXISTS (SELECT 1 FROM hapax.outcomes o WHERE o.bucket = e.bucket AND o.id = e.id
                    AND o.is_current AND o.state = 4 AND o.state >= 4)"
);

/// A query and where to go on, with the store's limit.
pub(crate) struct Page {
    pub(crate) query: EventQuery,
    pub(crate) after: Option<Cursor>,
    pub(crate) limit: u32,
    pub(crate) scan_max: usize,
}

impl Page {
    /// Only events with lower numbers.
    fn before(&self) -> i64 {
        self.after.map_or(i64::MAX, |Cursor(number)| {
            i64::try_from(number).unwrap_or(i64::MAX)
        })
    }

    fn limit(&self) -> usize {
        self.limit.min(PAGE_MAX) as usize
    }

    /// What is unfinished or dead is few beside everything stored: only such rows are looked at when
    /// they are asked for.
    const fn scan(&self) -> &'static str {
        match self.query.status {
            Some(EventStatus::Pending | EventStatus::Failed) => UNFINISHED,
            Some(EventStatus::Dead) => DEAD,
            Some(EventStatus::Completed | EventStatus::Ignored | EventStatus::Quarantined) | None => ALL,
        }
    }
}

/// One page.
pub(crate) async fn list(session: &Session, page: &Page) -> Result<EventPage, Failure> {
    session.begin_reading().await?;
    let found = match &page.query.event_id {
        Some(event_id) => named::list(session, page, event_id).await?,
        None => by_number(session, page).await?,
    };
    session.commit().await?;
    Ok(found)
}

/// Looks at the newest rows before the cursor, until the page is full or enough were looked at.
async fn by_number(session: &Session, page: &Page) -> Result<EventPage, Failure> {
    let mut result = EventPage::default();
    let mut before = page.before();
    let mut left = page.scan_max.max(1);
    let mut chunk = page.limit() + 1;
    while left > 0 {
        let count = chunk.min(left);
        let rows = scan(session, page, before, count).await?;
        let (read, last) = (rows.len(), rows.last().map(|row| row.number));
        if fill(session, page, rows, &mut result).await? {
            return Ok(result);
        }
        let Some(last) = last.filter(|_| read == count) else {
            // The end of all.
            result.next = None;
            return Ok(result);
        };
        before = last;
        left -= count;
        chunk = CHUNK;
        result.next = Some(Cursor(last as u64));
    }
    Ok(result)
}

async fn scan(session: &Session, page: &Page, before: i64, count: usize) -> Result<Vec<Found>, Failure> {
    let filter = Filter::of(&page.query);
    let rows = session
        .rows(
            page.scan(),
            bind![
                before,
                count as i64,
                page.query.since.map(Timestamp::as_micros),
                page.query.until.map(Timestamp::as_micros),
                filter.source,
                filter.exact,
                filter.prefix,
            ],
        )
        .await?;
    rows.iter().map(Found::read).collect()
}

/// Puts on a page what belongs there; whether there was more than fits.
async fn fill(
    session: &Session,
    page: &Page,
    rows: Vec<Found>,
    result: &mut EventPage,
) -> Result<bool, Failure> {
    let fitting: Vec<Found> = rows.into_iter().filter(|row| row.fits).collect();
    let (statuses, copies) = join(status::of(session, &fitting), copies::of(session, &fitting)).await;
    let (statuses, copies) = (statuses?, copies?);
    for row in fitting {
        let known = statuses.get(&row.id).copied();
        let status = known.unwrap_or_else(|| EventStatus::without_deliveries(&row.event_id));
        if page.query.status.is_some_and(|wanted| wanted != status) {
            continue;
        }
        if result.events.len() == page.limit() {
            return Ok(true);
        }
        result.next = Some(Cursor(row.number as u64));
        let copies = copies.get(&row.key).copied().unwrap_or(0);
        result.events.push(row.summary(status, copies));
    }
    Ok(false)
}
