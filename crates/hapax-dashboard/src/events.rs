//! `/events`: the events, newest first, with search and a live tail.
//!
//! The URL contains the whole search, so that it can be shared. If a query cannot be parsed, the page shows the error
//! and no events: a list that ignores half of the query would mislead.

mod search;
mod table;
mod tail;

use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use hapax_core::Timestamp;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::frame::{Here, page as framed};
use super::moment::moment;
use super::viewer::Viewer;
use hapax_admin::AdminState;
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::PAGE_DEFAULT;
use hapax_admin::{events, filter, searches};
use hapax_api::path::Parameters;
use hapax_api::query::{self, QueryError};
use hapax_api::readable;
use hapax_api::views::{CoverageView, EventPageView, SavedSearchView};

/// The query parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventsParams {
    q: String,
    cursor: String,
}

pub(super) async fn page(
    viewer: Viewer,
    Narrowed(state): Narrowed,
    Query(asked): Query<EventsParams>,
) -> ApiResult<Response> {
    let text = asked.q.trim();
    let saved = searches::all(&state).await?.searches;
    let found = match query::parse(text, state.now()) {
        Ok(_) => find(&state, &viewer, text, &asked.cursor).await?,
        Err(error) => return Ok(misread(&viewer, text, &saved, &error)),
    };
    let content = html! {
        (search::tabs(&viewer, text, &saved))
        (search::form(&viewer, text, None))
        (search::shortcuts(text, &sources(&state)))
        (covered(found.page.coverage, state.now()))
        (tail::bar(text, found.tail))
        (table::table(&found.page.events, state.now()))
        (turn(text, &asked.cursor, &found.page))
        (tail::replay_dialog(&viewer))
    };
    Ok(framed(&viewer, Here::Events, "Events", content))
}

/// The URL of a search and a position in it.
pub(super) fn address(query: &str, cursor: Option<&str>) -> String {
    if query.is_empty() && cursor.is_none() {
        return "/events".to_owned();
    }
    let parameters = Parameters::default().with("q", Some(query));
    parameters.with("cursor", cursor).on("/events")
}

struct Found {
    page: EventPageView,
    tail: tail::Kind,
}

async fn find(state: &AdminState, viewer: &Viewer, text: &str, cursor: &str) -> ApiResult<Found> {
    let query = filter::read(state, text)?;
    let cursor = Some(cursor).filter(|cursor| !cursor.is_empty());
    let after = filter::search_cursor(cursor)?;
    Ok(Found {
        page: events::page(state, viewer.caller.role, &query, after, PAGE_DEFAULT).await?,
        tail: tail::Kind::of(&query, cursor),
    })
}

fn sources(state: &AdminState) -> Vec<String> {
    let settings = state.settings.load();
    settings
        .sources
        .iter()
        .map(|source| source.name.clone())
        .collect()
}

fn misread(viewer: &Viewer, text: &str, saved: &[SavedSearchView], error: &QueryError) -> Response {
    let content = html! {
        (search::tabs(viewer, text, saved))
        (search::form(viewer, text, Some(error)))
    };
    let page = framed(viewer, Here::Events, "Events", content);
    (StatusCode::BAD_REQUEST, page).into_response()
}

/// A notice if a search did not cover everything.
fn covered(coverage: CoverageView, now: Timestamp) -> Markup {
    match coverage {
        CoverageView::Everything => html! {},
        CoverageView::Indexed { since } => html! {
            p class="notice" {
                "This field is indexed: only events accepted since " (moment(since, now)) " were searched."
            }
        },
        CoverageView::Newest {
            bodies_read,
            is_cut: false,
        } => html! {
            p class="notice" {
                "This field is not indexed, so the newest bodies are read one by one: "
                (readable::count(bodies_read)) " up to here."
            }
        },
        CoverageView::Newest {
            bodies_read,
            is_cut: true,
        } => html! {
            p class="notice warn" {
                "The search ended after the newest " (readable::count(bodies_read))
                " bodies, which is its limit; older events were not searched. Add the field to the source's "
                code { "indexed" } " to search new events without this limit."
            }
        },
    }
}

fn turn(text: &str, cursor: &str, page: &EventPageView) -> Markup {
    html! {
        nav class="row spread turn" aria-label="Pages of events" {
            @if cursor.is_empty() {
                span {}
            } @else {
                a class="button" href=(address(text, None)) { "Back to the newest" }
            }
            @if let Some(next) = &page.next {
                a class="button" rel="next" href=(address(text, Some(next))) { "Older events" }
            } @else {
                span class="muted" { "There is nothing older." }
            }
        }
    }
}
