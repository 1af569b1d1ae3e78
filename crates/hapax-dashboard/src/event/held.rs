//! An event that is held because its body arrived before under another id: release or discard it.

use hapax_core::EventStatus;
use maud::{Markup, html};

use super::super::form::form;
use super::super::link;
use super::super::viewer::Viewer;
use hapax_api::views::{DeliveryStatus, EventView};

pub(super) fn section(viewer: &Viewer, view: &EventView) -> Markup {
    if view.status != EventStatus::Held {
        return Markup::default();
    }
    let held = view.deliveries.iter();
    let held = held.filter(|delivery| delivery.status == DeliveryStatus::Held);
    html! {
        section aria-labelledby="held" {
            h2 id="held" { "Held" }
            div class="card stack" {
                p { "Compare it with the event that has the same body. If the provider really sent both, release it; if an attacker replayed a captured body, discard it." }
                (form(viewer, &format!("{}/replay", link::event(view.id)), html! {
                    input type="hidden" name="mode" value="held";
                    button class="button primary" type="submit" { "Release" }
                }))
                @for delivery in held {
                    (form(viewer, "/dead/discard", html! {
                        input type="hidden" name="event" value=(view.id);
                        input type="hidden" name="destination" value=(delivery.destination_id);
                        button class="button" type="submit" { "Discard the delivery to " (delivery.destination) }
                    }))
                }
            }
        }
    }
}
