//! Erase: a page of events that match, at a bounded cost. The caller goes on until there is no next page, and may begin
//! again at any time: what was erased stays erased.

use hapax_core::EventId;
use hapax_core::store::{Actor, Erased, Error, EventQuery, Unfinished};

use crate::engine::Engine;
use crate::search::{Coverage, SearchCursor};

/// Events that are erased in one go.
const PAGE: u32 = 100;

/// What became of a page of events that were to be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// Events that were erased.
    pub erased: u64,
    /// Deliveries of them that were discarded.
    pub discarded: u64,
    /// Events that had been erased before.
    pub before: u64,
    /// Events that were left as they are, because work is unfinished.
    pub unfinished: u64,
    /// Where to go on; none at the end.
    pub next: Option<SearchCursor>,
    /// What of the store was looked at.
    pub coverage: Coverage,
}

impl Engine {
    /// Erases the events of one page of a search. `named` is what the audit trail calls the query: it must not repeat what
    /// was erased.
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
        // Before it happens: it cannot be undone, and must not happen unseen if the process ends in between.
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
