//! The table of events.

use hapax_core::Timestamp;
use maud::{Markup, html};

use crate::moment::moment;
use crate::status::status;
use hapax_api::readable;
use hapax_api::views::EventSummaryView;

/// The events of a page.
pub(super) fn table(events: &[EventSummaryView], now: Timestamp) -> Markup {
    html! {
        div class="table" tabindex="0" role="region" aria-label="Events" data-scroll {
            table class="events" data-rows {
                thead {
                    tr {
                        th scope="col" { "Received" }
                        th scope="col" { "Source" }
                        th scope="col" { "Type" }
                        th scope="col" { "Event id" }
                        th scope="col" { "Status" }
                        th scope="col" class="number" { "Duplicates" }
                        th scope="col" class="number" { "Size" }
                    }
                }
                tbody data-events { @for event in events { (row(event, now)) } }
            }
            @if events.is_empty() {
                p class="empty" data-empty { "No event matches." }
            }
        }
    }
}

fn row(event: &EventSummaryView, now: Timestamp) -> Markup {
    html! {
        tr data-id=(event.id) {
            td class="when" { (moment(event.received_at, now)) }
            td { (event.source) }
            td { (event.event_type.as_deref().unwrap_or("–")) }
            td class="wrap mono" { a href={ "/events/" (event.id) } { (event.event_id) } }
            td { (status(event.status)) }
            td class="number" data-duplicates=(event.duplicates) { (readable::count(event.duplicates)) }
            td class="number" { (readable::size(event.body_bytes)) }
        }
    }
}
