//! Listing events, newest or oldest first. A page reads a bounded number of rows whatever the filters are: if few rows
//! match, it ends early with a cursor.

mod bodies;
mod duplicates;
mod filling;
mod fits;
mod found;
mod named;
mod range;
mod status;
mod ways;

use hapax_core::store::{Cursor, EventPage, EventQuery};

use crate::failure::Failure;
use crate::session::Session;
use filling::Filling;
use range::Range;
use ways::Way;

/// The maximum number of events per page, whatever the caller asks for.
const PAGE_MAX: u32 = 1_000;
/// Rows read per statement once the first statement did not fill the page.
const CHUNK: usize = 1_000;

/// A query and its cursor, with the store's limit.
pub(crate) struct Page {
    pub(crate) query: EventQuery,
    pub(crate) after: Option<Cursor>,
    pub(crate) limit: u32,
    pub(crate) scan_max: usize,
}

impl Page {
    /// The numbers that the list has not reached yet.
    fn rest(&self) -> Range {
        let all = Range {
            from: 0,
            before: i64::MAX,
        };
        match self.after {
            Some(Cursor(number)) => {
                let last = i64::try_from(number).unwrap_or(i64::MAX - 1);
                all.after(last, self.query.order)
            }
            None => all,
        }
    }

    fn limit(&self) -> usize {
        self.limit.min(PAGE_MAX) as usize
    }
}

pub(crate) async fn list(session: &Session, page: &Page) -> Result<EventPage, Failure> {
    session.begin_reading().await?;
    let found = match &page.query.event_id {
        Some(event_id) => named::list(session, page, event_id).await?,
        None => by_number(session, page).await?,
    };
    session.commit().await?;
    Ok(found)
}

/// Reads the first rows after the cursor until the page is full or the scan limit is reached.
async fn by_number(session: &Session, page: &Page) -> Result<EventPage, Failure> {
    let way = Way::choose(session, page).await?;
    let mut filling = Filling::of(page);
    let mut range = Range::of(session, page).await?;
    let mut left = page.scan_max.max(1);
    let mut chunk = page.limit() + 1;
    while left > 0 {
        let count = chunk.min(left);
        let rows = way.scan(session, page, range, count).await?;
        let (read, last) = (rows.len(), rows.last().map(|row| row.number));
        if filling.add(session, rows).await? {
            return Ok(filling.result);
        }
        let Some(last) = last.filter(|_| read == count) else {
            // The end of the list.
            filling.result.next = None;
            return Ok(filling.result);
        };
        range = range.after(last, page.query.order);
        left -= count;
        chunk = CHUNK;
        filling.result.next = Some(Cursor(last as u64));
    }
    Ok(filling.result)
}
