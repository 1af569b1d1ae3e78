//! A page while it is being filled.

use hapax_core::EventId;
use hapax_core::store::{Cursor, EventPage, EventQuery};

use super::bodies::{self, Reading};
use super::look::{self, Found};
use crate::failure::Failure;
use crate::link::Link;

/// The page so far.
pub(super) struct Filling<'q> {
    query: &'q EventQuery,
    limit: usize,
    pub(super) page: EventPage,
    reading: Reading,
}

/// Whether a page may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Left,
    /// It is full, or the limit of bodies read is reached.
    None,
}

impl<'q> Filling<'q> {
    pub(super) fn new(query: &'q EventQuery, limit: usize) -> Self {
        Self {
            query,
            limit,
            page: EventPage::default(),
            reading: Reading::default(),
        }
    }

    /// Adds the matching events.
    pub(super) async fn add(&mut self, link: &Link, ids: &[EventId]) -> Result<Room, Failure> {
        let fitting = look::fitting(link, self.query, ids).await?;
        for group in bodies::groups(self.query, fitting) {
            if self.add_group(link, group).await? == Room::None {
                return Ok(Room::None);
            }
        }
        self.page.next = ids.last().map(|id| Cursor(id.order()));
        Ok(Room::Left)
    }

    async fn add_group(&mut self, link: &Link, group: Vec<Found>) -> Result<Room, Failure> {
        let is_full = self.page.events.len() >= self.limit;
        if !self.query.body.is_empty() && (is_full || self.reading.is_spent()) {
            return Ok(Room::None);
        }
        let last = group.last().map(Found::order);
        let mut group = bodies::fitting(link, self.query, group, &mut self.reading).await?;
        if self.query.by_index.is_none() {
            self.page.bodies_read = self.reading.bodies;
        }
        while let Some(order) = group.first().map(Found::order) {
            let rest = group.split_off(group.partition_point(|one| one.order() == order));
            if self.put(order, group) == Room::None {
                return Ok(Room::None);
            }
            group = rest;
        }
        self.page.next = last.map(Cursor).or(self.page.next);
        Ok(Room::Left)
    }

    /// Adds all events of an order to the page. An empty page takes them however many there are.
    fn put(&mut self, order: u64, events: Vec<Found>) -> Room {
        let count = self.page.events.len();
        if count > 0 && count + events.len() > self.limit {
            return Room::None;
        }
        self.page.events.extend(events.into_iter().map(Found::summary));
        self.page.next = Some(Cursor(order));
        Room::Left
    }
}
