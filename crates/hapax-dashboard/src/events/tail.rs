//! The live part of the page: whether it is live, why not, and the replay dialog.

use hapax_core::store::EventQuery;
use maud::{Markup, html};

use crate::fields::CSRF_FIELD;
use crate::live::NOT_LIVE;
use crate::viewer::Viewer;
use hapax_admin::stream::is_seen_at_arrival;
use hapax_api::path::Parameters;

/// Whether new events appear automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// New events appear.
    Live,
    /// The search depends on data that is not known on arrival.
    Unknowable,
    /// The page shows older events.
    Older,
}

impl Kind {
    pub(super) fn of(query: &EventQuery, cursor: Option<&str>) -> Self {
        match (cursor, is_seen_at_arrival(query)) {
            (Some(_), _) => Self::Older,
            (None, true) => Self::Live,
            (None, false) => Self::Unknowable,
        }
    }
}

/// The line above the table. The script fills it; without JavaScript it says how to see new events.
pub(super) fn bar(text: &str, kind: Kind) -> Markup {
    let feed = Parameters::default().with("q", Some(text)).on("/events/live");
    html! {
        div class="row spread live" {
            @match kind {
                Kind::Live => {
                    p data-live=(feed) {
                        span class="badge plain" data-live-state { "Not live" } " "
                        span data-live-words { "Reload the page to see new events." }
                    }
                    p class="row" {
                        button class="button" type="button" data-live-new hidden { "Show new events" }
                        button class="button" type="button" data-live-pause aria-pressed="false" hidden { "Pause" }
                    }
                    p class="visually-hidden" role="status" data-live-said {}
                },
                Kind::Unknowable => p class="muted" { "Not live: " (NOT_LIVE) ". Reload the page to see new events." },
                Kind::Older => p class="muted" { "Not live: these are older events." },
            }
        }
    }
}

/// The dialog that the key `r` opens. The script fills in the event.
pub(super) fn replay_dialog(viewer: &Viewer) -> Markup {
    html! {
        @if viewer.may_send("/events/{id}/replay") {
            dialog id="replay" aria-labelledby="replay-title" {
                form class="stack" method="post" {
                    input type="hidden" name=(CSRF_FIELD) value=(viewer.csrf);
                    h2 id="replay-title" { "Replay this event?" }
                    p class="mono wrap" data-replay-id {}
                    label for="replay-mode" { "Which deliveries" }
                    select id="replay-mode" name="mode" {
                        option value="failed" { "Only failed deliveries" }
                        option value="all" { "All, under the same keys: a handler that already processed it ignores it" }
                        option value="force" { "All, under new keys: it takes effect again" }
                    }
                    div class="row" {
                        button class="button primary" type="submit" { "Replay" }
                        button class="button" type="button" data-close { "Cancel" }
                    }
                }
            }
        }
    }
}
