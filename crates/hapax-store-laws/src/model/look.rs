//! Reading: one event, pages of events, finished deliveries, and counts.

use std::collections::BTreeMap;

use hapax_core::store::{
    Backlog, ConflictView, Counts, Cursor, DeadGroup, DeadQuery, DeliveryView, EventPage, EventQuery,
    EventRecord, EventSummary, Has, LedgerCount, ListOrder, plain_body_bytes,
};
use hapax_core::{DeliveryState, DestinationId, ErrorClass, EventId, Scope, Timestamp};

use super::state::{Delivery, EventRow, State};

impl State {
    pub(super) fn record(&self, id: EventId) -> Option<EventRecord> {
        let row = self.events.get(&id)?;
        let conflicts = self.conflicts.get(&row.key).into_iter().flatten();
        Some(EventRecord {
            event: row.event.clone(),
            status: self.status(id),
            deliveries: self
                .deliveries_of(id)
                .map(|(destination, delivery)| delivery.view(id, destination))
                .collect(),
            attempts: self.attempts.get(&id).cloned().unwrap_or_default(),
            duplicates: self.duplicates.get(&row.key).cloned(),
            conflicts: conflicts
                .filter(|conflict| conflict.other_body.first == id)
                .map(|conflict| ConflictView {
                    raw_hash: conflict.other_body.raw_hash,
                    seen: conflict.seen,
                    received_at: conflict.other_body.received_at,
                    body_bytes: conflict.other_body.body.len() as u64,
                    released_as: conflict.released_as,
                })
                .collect(),
            same_body_as: row.same_body_as,
        })
    }

    pub(super) fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> EventPage {
        let mut rows: Vec<_> = self
            .events
            .values()
            .filter(|row| after.is_none_or(|Cursor(sequence)| is_after(query.order, row.sequence, sequence)))
            .filter(|row| self.fits(query, row))
            .collect();
        rows.sort_unstable_by_key(|row| row.sequence);
        if query.order == ListOrder::NewestFirst {
            rows.reverse();
        }
        let mut page = EventPage::default();
        let mut last = None;
        for row in rows {
            if page.events.len() == limit as usize {
                page.next = last;
                break;
            }
            if query.by_index.is_none() && !query.body.is_empty() {
                page.bodies_read += 1;
            }
            if query.fits_body(row.event.id, &row.event.body) {
                page.events.push(self.summary(row));
            }
            last = Some(Cursor(row.sequence));
        }
        page
    }

    /// Whether everything but the body matches.
    fn fits(&self, query: &EventQuery, row: &EventRow) -> bool {
        let event = &row.event;
        let is_named =
            |name: &String| *name == event.identity.event_id || name.parse().ok() == Some(event.id);
        query.source.as_ref().is_none_or(|source| *source == event.source)
            && query.status.is_none_or(|status| status == self.status(event.id))
            && query.fits_type(event.event_type.as_deref())
            && query.event_id.as_ref().is_none_or(is_named)
            && self.fits_delivery(query, event.id)
            && query
                .duplicates
                .is_none_or(|count| count.fits(self.duplicates(row)))
            && query.has.is_none_or(|Has::Conflict| self.has_conflict(row))
            && fits_index(query, row)
            && query.since.is_none_or(|since| event.received_at >= since)
            && query.until.is_none_or(|until| event.received_at < until)
    }

    fn fits_delivery(&self, query: &EventQuery, event: EventId) -> bool {
        let fits = |(destination, delivery): (&DestinationId, &Delivery)| {
            let is_dead = delivery.state == DeliveryState::Dead;
            query.to.as_ref().is_none_or(|to| to == destination)
                && query
                    .error
                    .is_none_or(|error| is_dead && delivery.error == Some(error))
        };
        (query.to.is_none() && query.error.is_none()) || self.deliveries_of(event).any(fits)
    }

    fn duplicates(&self, row: &EventRow) -> u64 {
        self.duplicates.get(&row.key).map_or(0, |tally| tally.count)
    }

    fn has_conflict(&self, row: &EventRow) -> bool {
        let mut conflicts = self.conflicts.get(&row.key).into_iter().flatten();
        conflicts.any(|conflict| conflict.other_body.first == row.event.id)
    }

    fn summary(&self, row: &EventRow) -> EventSummary {
        let event = &row.event;
        EventSummary {
            id: event.id,
            source: event.source.clone(),
            event_id: event.identity.event_id.clone(),
            event_type: event.event_type.clone(),
            received_at: event.received_at,
            status: self.status(event.id),
            body_bytes: plain_body_bytes(event.headers.as_bytes(), event.body.len() as u64),
            duplicates: self.duplicates(row),
        }
    }

    pub(super) fn finished(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> (Vec<DeliveryView>, Option<Cursor>) {
        let mut found: Vec<_> = self
            .deliveries
            .iter()
            .filter(|((_, destination), delivery)| {
                delivery.state == query.state
                    && query
                        .destination
                        .as_ref()
                        .is_none_or(|wanted| wanted == destination)
                    && after.is_none_or(|Cursor(sequence)| delivery.finished_sequence < sequence)
            })
            .collect();
        found.sort_unstable_by_key(|(_, delivery)| std::cmp::Reverse(delivery.finished_sequence));
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let next = found
            .last()
            .filter(|_| more)
            .map(|(_, delivery)| Cursor(delivery.finished_sequence));
        let views = found
            .into_iter()
            .map(|((event, destination), delivery)| delivery.view(*event, destination))
            .collect();
        (views, next)
    }

    pub(super) fn dead_groups(&self, limit: u32) -> Vec<DeadGroup> {
        let mut dead: Vec<_> = self
            .deliveries
            .iter()
            .filter(|(_, delivery)| delivery.state == DeliveryState::Dead)
            .collect();
        dead.sort_unstable_by_key(|(_, delivery)| delivery.finished_sequence);
        let mut groups: BTreeMap<_, DeadGroup> = BTreeMap::new();
        for ((event, destination), delivery) in dead {
            let name = (destination.clone(), delivery.error.map(ErrorClass::as_str));
            let at = delivery.finished_at.unwrap_or_default();
            let group = groups.entry(name).or_insert(DeadGroup {
                destination: destination.clone(),
                error: delivery.error,
                count: 0,
                first_at: at,
                last_at: at,
                last: *event,
            });
            group.count += 1;
            group.first_at = group.first_at.min(at);
            group.last_at = group.last_at.max(at);
            group.last = *event;
        }
        let mut groups: Vec<DeadGroup> = groups.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        groups.truncate(limit as usize);
        groups
    }

    pub(super) fn counts(&self) -> Counts {
        let mut backlog: BTreeMap<_, (u64, Option<Timestamp>)> = BTreeMap::new();
        for ((event, destination), delivery) in &self.deliveries {
            if matches!(
                delivery.state,
                DeliveryState::Completed | DeliveryState::Discarded
            ) {
                continue;
            }
            let accepted = self.events.get(event).map(|row| row.accepted_at);
            let (count, oldest) = backlog.entry((destination.clone(), delivery.state)).or_default();
            *count += 1;
            *oldest = [*oldest, accepted].into_iter().flatten().min();
        }
        let mut ledger: BTreeMap<Scope, u64> = BTreeMap::new();
        for row in self.ledger.values() {
            *ledger.entry(row.scope.clone()).or_default() += 1;
        }
        let bodies: usize = self.events.values().map(|row| row.event.body.len()).sum();
        Counts {
            backlog: backlog
                .into_iter()
                .map(|((destination, state), (count, oldest))| Backlog {
                    destination,
                    state,
                    count,
                    oldest,
                })
                .collect(),
            ledger: ledger
                .into_iter()
                .map(|(scope, entries)| LedgerCount { scope, entries })
                .collect(),
            events: self.events.len() as u64,
            store_bytes: bodies as u64,
        }
    }
}

const fn is_after(order: ListOrder, sequence: u64, cursor: u64) -> bool {
    match order {
        ListOrder::NewestFirst => sequence < cursor,
        ListOrder::OldestFirst => sequence > cursor,
    }
}

/// Whether the searched value was indexed when the event arrived.
fn fits_index(query: &EventQuery, row: &EventRow) -> bool {
    query
        .indexed_value()
        .is_none_or(|value| row.indexed.contains(&value))
}
