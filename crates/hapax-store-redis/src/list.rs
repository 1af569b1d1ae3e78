//! List: events, newest or oldest first. A page reads a bounded number of events whatever the filters are: if few
//! match, it ends early with a cursor.
//!
//! Every shard has its events in a sorted set by id, and ids are in order of acceptance; so a page merges the first ids
//! of all shards, and reads the events themselves only then. A cursor is the order of an id. Two processes may give two
//! events the same order, so a page has all events of an order or none.

mod bodies;
mod few;
mod filling;
mod fits;
mod look;
mod named;
mod range;
mod trail;

use std::sync::Arc;

use hapax_core::store::{Cursor, EventPage, EventQuery};

use crate::Options;
use crate::failure::Failure;
use crate::link::Link;
use filling::{Filling, Room};
use trail::Trail;

/// The maximum number of events per page, whatever the caller asks for; more only if they share an order.
const PAGE_MAX: u32 = 1_000;
/// Events read in one batch, once the first batch did not fill the page.
const CHUNK: usize = 1_000;

pub(crate) async fn list(
    link: &Arc<Link>,
    options: &Options,
    query: &EventQuery,
    after: Option<Cursor>,
    limit: u32,
) -> Result<EventPage, Failure> {
    let limit = limit.clamp(1, PAGE_MAX) as usize;
    let mut trail = Trail::choose(link, options, query, after).await?;
    let mut filling = Filling::new(query, limit);
    let mut left = options.list_scan_max.max(1);
    let mut count = limit + 1;
    while left > 0 {
        let ids = trail.next(link, count.min(left)).await?;
        if ids.is_empty() {
            filling.page.next = None;
            break;
        }
        left = left.saturating_sub(ids.len());
        count = CHUNK;
        match filling.add(link, &ids).await? {
            Room::Left => {}
            Room::None => break,
        }
    }
    Ok(filling.page)
}
