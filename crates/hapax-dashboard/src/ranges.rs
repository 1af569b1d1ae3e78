//! The last hour, day or week: what a page is asked for, and the tabs that ask for another.

use hapax_core::store::TimeRange;
use maud::{Markup, html};
use serde::Deserialize;

/// What a page over time is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    pub(super) range: Option<TimeRange>,
}

/// A tab for each span of the page at this path.
pub(super) fn tabs(path: &str, here: TimeRange) -> Markup {
    html! {
        nav aria-label="Range" {
            ul class="tabs" {
                @for span in TimeRange::ALL {
                    li { a href={ (path) "?range=" (span.as_str()) } aria-current=[(span == here).then_some("page")] { "Last " (span.as_str()) } }
                }
            }
        }
    }
}
