//! Search: a page of events at a bounded cost, and how much of the store it covered.
//!
//! Stores cannot search values in bodies on their own. If the query names a source that indexes the field, the index is
//! used; otherwise the newest bodies are read one by one, at most [`BODIES_MAX`] over all pages of a search, and the
//! answer says so.

use hapax_core::Timestamp;
use hapax_core::store::{Cursor, Error, EventQuery, EventSummary};

use crate::engine::{Engine, Inner};

/// Bodies that one search reads, over all its pages.
pub const BODIES_MAX: u64 = 50_000;

/// Where a search continues: the store's cursor, and how many bodies were read so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchCursor {
    /// Where the last page ended.
    pub position: Cursor,
    /// Bodies read by all pages so far.
    pub bodies_read: u64,
}

/// A page of results.
#[derive(Clone, Debug)]
pub struct Found {
    /// The events, newest first.
    pub events: Vec<EventSummary>,
    /// Where to continue; none at the end. A page may hold fewer events than requested and still have a next page.
    pub next: Option<SearchCursor>,
    /// How much of the store was searched.
    pub coverage: Coverage,
}

/// How much of the store a search covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All stored events.
    Everything,
    /// All events accepted since the field was indexed.
    IndexedSince(Timestamp),
    /// The newest bodies, one by one.
    Newest {
        /// Bodies read so far.
        bodies_read: u64,
        /// Whether the limit ended the search early.
        is_cut: bool,
    },
}

impl Engine {
    /// One page of a search.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn search(
        &self,
        query: &EventQuery,
        after: Option<SearchCursor>,
        limit: u32,
    ) -> Result<Found, Error> {
        let bodies_before = after.map_or(0, |cursor| cursor.bodies_read);
        let (query, indexed_since) = self.0.plan_search(query);
        let page = self
            .0
            .parts
            .store
            .list(&query, after.map(|cursor| cursor.position), limit)
            .await?;
        let bodies_read = bodies_before + page.bodies_read;
        let is_spent = bodies_read >= BODIES_MAX;
        let next = page.next.filter(|_| !is_spent).map(|position| SearchCursor {
            position,
            bodies_read,
        });
        let coverage = match indexed_since {
            Some(since) => Coverage::IndexedSince(since),
            None if query.body.is_empty() => Coverage::Everything,
            None => Coverage::Newest {
                bodies_read,
                is_cut: is_spent && page.next.is_some(),
            },
        };
        Ok(Found {
            events: page.events,
            next,
            coverage,
        })
    }
}

impl Inner {
    /// The query with the index it can use, and since when that index is complete.
    pub(crate) fn plan_search(&self, query: &EventQuery) -> (EventQuery, Option<Timestamp>) {
        let mut query = query.clone();
        query.by_index = None;
        let Some(source) = query.source.clone() else {
            return (query, None);
        };
        let indexes = self.indexes.load();
        let found = query.body.iter().enumerate().find_map(|(place, term)| {
            let since = indexes.get(&(source.clone(), term.pointer.clone()))?;
            Some((place, *since))
        });
        query.by_index = found.map(|(place, _)| place);
        (query, found.map(|(_, since)| since))
    }
}
