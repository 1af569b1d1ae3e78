//! Paginated lists, read page by page and joined into one.

use serde::de::DeserializeOwned;

use crate::{Client, Error};
use hapax_api::path::Parameters;
use hapax_api::views::{AuditPageView, DeliveriesView, EventPageView, ReplaysView};

/// Items to request at once: the server's limit.
const PAGE_MAX: u32 = 200;

/// An answer that is one page of a list.
pub trait Page: Default + DeserializeOwned {
    /// The number of items on the page.
    fn count(&self) -> usize;

    /// Appends another page's items and takes over its cursor.
    fn append(&mut self, page: Self);

    /// The cursor of the next page; `None` at the end of the list.
    fn next(&self) -> Option<&String>;
}

impl Client {
    /// Up to `limit` items of the list at `path`, starting at `cursor`.
    ///
    /// # Errors
    /// If an answer is not a page.
    pub async fn pages<P: Page>(
        &self,
        path: &str,
        parameters: &Parameters,
        cursor: Option<String>,
        limit: u32,
    ) -> Result<P, Error> {
        let (mut whole, mut cursor) = (P::default(), cursor);
        loop {
            let missing = limit.saturating_sub(whole.count() as u32);
            let asked = parameters
                .clone()
                .with("limit", Some(missing.min(PAGE_MAX)))
                .with("cursor", cursor);
            whole.append(self.get(&asked.on(path)).await?);
            cursor = whole.next().cloned();
            // A page may hold fewer items than requested and still not be the last.
            if cursor.is_none() || whole.count() as u32 >= limit {
                return Ok(whole);
            }
        }
    }
}

impl Page for EventPageView {
    fn count(&self) -> usize {
        self.events.len()
    }

    fn append(&mut self, page: Self) {
        self.events.extend(page.events);
        self.next = page.next;
        self.coverage = page.coverage;
    }

    fn next(&self) -> Option<&String> {
        self.next.as_ref()
    }
}

impl Page for DeliveriesView {
    fn count(&self) -> usize {
        self.deliveries.len()
    }

    fn append(&mut self, page: Self) {
        self.deliveries.extend(page.deliveries);
        self.next = page.next;
    }

    fn next(&self) -> Option<&String> {
        self.next.as_ref()
    }
}

impl Page for AuditPageView {
    fn count(&self) -> usize {
        self.audit.len()
    }

    fn append(&mut self, page: Self) {
        self.audit.extend(page.audit);
        self.next = page.next;
    }

    fn next(&self) -> Option<&String> {
        self.next.as_ref()
    }
}

impl Page for ReplaysView {
    fn count(&self) -> usize {
        self.replays.len()
    }

    fn append(&mut self, page: Self) {
        self.replays.extend(page.replays);
        self.next = page.next;
    }

    fn next(&self) -> Option<&String> {
        self.next.as_ref()
    }
}
