//! Erase: a page of matching events, at a bounded cost. The caller continues until there is no next page, and may
//! restart at any time: erased events stay erased.

use hapax_core::EventId;
use hapax_core::store::{Actor, Erased, Error, EventQuery, Unfinished};

use crate::engine::Engine;
use crate::search::{Coverage, SearchCursor};

/// Events erased at a time.
const PAGE: u32 = 100;

/// The result of erasing a page of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erasure {
    pub erased: u64,
    /// Their deliveries that were discarded.
    pub discarded: u64,
    /// Events that were already erased.
    pub before: u64,
    /// Events left alone because they have unfinished deliveries.
    pub unfinished: u64,
    /// Where to continue; none at the end.
    pub next: Option<SearchCursor>,
    /// How much of the store was searched.
    pub coverage: Coverage,
}

impl Engine {
    /// Erases the events on one page of a search. `named` is how the audit trail refers to the query: it must not
    /// contain erased data.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn erase(
        &self,
        (query, named): (&EventQuery, &str),
        after: Option<SearchCursor>,
        unfinished: Unfinished,
        who: &Actor,
    ) -> Result<Erasure, Error> {
        let found = self.search(query, after, PAGE).await?;
        let mut erasure = Erasure {
            erased: 0,
            discarded: 0,
            before: 0,
            unfinished: 0,
            next: found.next,
            coverage: found.coverage,
        };
        let events: Vec<EventId> = found.events.iter().map(|event| event.id).collect();
        if events.is_empty() {
            return Ok(erasure);
        }
        // Recorded first: erasure cannot be undone, and must not go unrecorded if the process ends in between.
        let rest = match unfinished {
            Unfinished::Keep => "those with unfinished deliveries are left alone",
            Unfinished::Discard => "unfinished deliveries are discarded",
        };
        let detail = format!("{} events found; {rest}", events.len());
        self.0.audit(who, "erase", named.to_owned(), detail).await?;
        for answer in self.store().erase(events, unfinished).await? {
            match answer {
                Erased::Now { discarded } => {
                    erasure.erased += 1;
                    erasure.discarded += u64::from(discarded);
                }
                Erased::Before => erasure.before += 1,
                Erased::Unfinished => erasure.unfinished += 1,
                Erased::NotFound => {}
            }
        }
        Ok(erasure)
    }
}
