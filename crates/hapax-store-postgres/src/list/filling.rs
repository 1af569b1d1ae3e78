//! A page while it is being filled.

use hapax_core::store::{Cursor, EventPage};

use super::Page;
use super::bodies::{self, Reading};
use super::fits::{self, Fitting};
use super::found::Found;
use crate::failure::Failure;
use crate::session::Session;

/// The page so far.
pub(super) struct Filling<'p> {
    page: &'p Page,
    pub(super) result: EventPage,
    reading: Reading,
}

impl<'p> Filling<'p> {
    pub(super) fn of(page: &'p Page) -> Self {
        Self {
            page,
            result: EventPage::default(),
            reading: Reading::default(),
        }
    }

    /// Adds matching rows. Returns whether the page has ended, because it is full or the limit of bodies read is
    /// reached.
    pub(super) async fn add(&mut self, session: &Session, rows: Vec<Found>) -> Result<bool, Failure> {
        let fitting = fits::fitting(session, &self.page.query, rows).await?;
        for group in bodies::groups(&self.page.query, fitting) {
            if self.reading.is_spent() {
                return Ok(true);
            }
            let last = group.last().map(|one| one.row.number);
            if self.add_group(session, group).await? {
                return Ok(true);
            }
            self.result.next = last.map(|number| Cursor(number as u64));
        }
        Ok(false)
    }

    async fn add_group(&mut self, session: &Session, group: Vec<Fitting>) -> Result<bool, Failure> {
        if self.result.events.len() == self.page.limit() && !self.page.query.body.is_empty() {
            return Ok(true);
        }
        let group = bodies::fitting(session, &self.page.query, group, &mut self.reading).await?;
        if self.page.query.by_index.is_none() {
            self.result.bodies_read = self.reading.bodies;
        }
        for one in group {
            if self.result.events.len() == self.page.limit() {
                return Ok(true);
            }
            self.result.next = Some(Cursor(one.row.number as u64));
            self.result
                .events
                .push(one.row.summary(one.status, one.duplicates));
        }
        Ok(false)
    }
}
