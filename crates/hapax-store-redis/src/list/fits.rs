//! Whether an event matches a query, leaving aside its duplicates and its body.

use hapax_core::store::{EventQuery, Has};
use hapax_core::{DeliveryState, EventStatus};

use crate::event::EventRow;
use crate::failure::Failure;

pub(super) fn fits(query: &EventQuery, row: &EventRow, status: EventStatus) -> Result<bool, Failure> {
    let head = &row.head;
    let received_at = head.received_at();
    let source = query.source.as_ref();
    let fits_head = source.is_none_or(|wanted| wanted.as_str() == head.source)
        && query.fits_type(head.event_type.as_deref())
        && query.since.is_none_or(|since| received_at >= since)
        && query.until.is_none_or(|until| received_at < until);
    let has = match query.has {
        Some(Has::Conflict) => !row.conflicts.is_empty(),
        None => true,
    };
    Ok(fits_head && has && query.status.is_none_or(|wanted| wanted == status) && fits_delivery(query, row)?)
}

/// Whether the event has a matching delivery to the destination: a dead one with the given error, or any.
fn fits_delivery(query: &EventQuery, row: &EventRow) -> Result<bool, Failure> {
    let to = query.to.as_ref();
    let Some(error) = query.error else {
        return Ok(to.is_none_or(|to| row.work.contains_key(to) || row.outcomes.contains_key(to)));
    };
    for (went_to, _, outcome) in row.last_outcomes() {
        let is_given_up = outcome.state()? == DeliveryState::Dead && outcome.error() == Some(error);
        if is_given_up && to.is_none_or(|to| to == went_to) {
            return Ok(true);
        }
    }
    Ok(false)
}
