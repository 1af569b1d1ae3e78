//! The time range of a page, and the tabs to select another.

use hapax_core::store::TimeRange;
use maud::{Markup, html};
use serde::Deserialize;

/// The query parameters of a page with a time range.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    pub(super) range: Option<TimeRange>,
}

/// A tab for each range of the page at this path.
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
