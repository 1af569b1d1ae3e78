//! `GET views`, `PUT views/{name}`, `DELETE views/{name}`: queries that were given a name.
//!
//! A view keeps its query as it was typed, so that `since:2h` means the last two hours whenever it is opened.

use axum::Json;
use hapax_core::store::{Actor, SAVED_VIEWS_MAX, SavedView};
use hapax_core::{Clock as _, SystemClock};
use serde::Deserialize;
use utoipa::ToSchema;

use super::access::{Caller, Narrowed};
use super::extract::{Named, Sent};
use super::fault::{Answer, Fault, Missing};
use super::filter;
use super::state::AdminState;
use super::views::{DeletedViewView, SavedViewView, SavedViewsView};

/// Longest name of a view.
const NAME_CHARACTERS_MAX: usize = 64;

/// A query to keep.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ViewQuery, example = json!({ "query": "status:dead since:24h" }))]
pub(in crate::http) struct Kept {
    /// The query, in the query language.
    #[schema(schema_with = super::schemas::query_text)]
    query: String,
}

/// Lists the saved views.
#[utoipa::path(get, path = "/views", operation_id = "listViews", tag = "queries",
    responses((status = 200, description = "Every view.", body = SavedViewsView)))]
pub(super) async fn list(Narrowed(state): Narrowed) -> Answer<Json<SavedViewsView>> {
    all(&state).await.map(Json)
}

/// Keeps a query under a name, instead of what has that name.
#[utoipa::path(put, path = "/views/{name}", operation_id = "saveView", tag = "queries",
    params(("name" = String, Path, description = "The view's name, 1 to 64 characters.", min_length = 1, max_length = 64, pattern = "^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$")),
    request_body = Kept,
    responses((status = 200, description = "The view.", body = SavedViewView)),
    extensions(("x-problems" = json!(["invalid_parameter", "malformed_body", "body_too_large", "too_many_views"])))
)]
pub(super) async fn put(
    Narrowed(state): Narrowed,
    caller: Caller,
    Named(name): Named<String>,
    Sent(kept): Sent<Kept>,
) -> Answer<Json<SavedViewView>> {
    save(&state, name, kept.query, &caller.actor).await.map(Json)
}

/// Deletes a view.
#[utoipa::path(delete, path = "/views/{name}", operation_id = "deleteView", tag = "queries",
    params(("name" = String, Path, description = "The view's name, 1 to 64 characters.", min_length = 1, max_length = 64, pattern = "^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$")),
    responses((status = 200, description = "It is gone.", body = DeletedViewView)),
    extensions(("x-problems" = json!(["invalid_parameter", "view_not_found"])))
)]
pub(super) async fn delete(
    Narrowed(state): Narrowed,
    caller: Caller,
    Named(name): Named<String>,
) -> Answer<Json<DeletedViewView>> {
    remove(&state, name, &caller.actor).await.map(Json)
}

/// Every view, by name.
pub(in crate::http) async fn all(state: &AdminState) -> Answer<SavedViewsView> {
    let views = state.engine.store().views().await?;
    Ok(SavedViewsView {
        views: views
            .into_iter()
            .filter(|view| is_visible(state, view))
            .map(show)
            .collect(),
    })
}

/// Whether a view is about one of the sources that the caller sees.
fn is_visible(state: &AdminState, view: &SavedView) -> bool {
    let source = || filter::read(&state.settings.load(), &view.query).ok()?.source;
    state.visible.is_all() || source().is_some_and(|source| state.visible.sees(source.as_str()))
}

/// Keeps a view, instead of what has its name.
pub(in crate::http) async fn save(
    state: &AdminState,
    name: String,
    query: String,
    who: &Actor,
) -> Answer<SavedViewView> {
    check_name(&name)?;
    let read = filter::read(&state.settings.load(), &query)?;
    if read == hapax_core::store::EventQuery::default() {
        return Err(Fault::invalid_parameter(
            "`query` is empty, which finds everything; a view keeps at least one term, such as status:dead",
        ));
    }
    let at = SystemClock::default().now();
    let by = who.name.clone();
    let view = SavedView { name, query, by, at };
    if !state.engine.store().put_view(view.clone()).await? {
        return Err(Fault::too_many_views(SAVED_VIEWS_MAX));
    }
    let entry = who.entry("view.save", view.name.as_str(), view.query.as_str());
    state.engine.record(entry).await?;
    Ok(show(view))
}

/// Deletes a view.
pub(in crate::http) async fn remove(
    state: &AdminState,
    name: String,
    who: &Actor,
) -> Answer<DeletedViewView> {
    check_name(&name)?;
    if !state.engine.store().delete_view(&name).await? {
        let detail = format!("there is no view `{name}`; `hapax views list` shows those that there are");
        return Err(Fault::not_found(Missing::View, detail));
    }
    let entry = who.entry("view.delete", name.as_str(), "");
    state.engine.record(entry).await?;
    Ok(DeletedViewView { name })
}

fn check_name(name: &str) -> Answer<()> {
    let is_fine = !name.trim().is_empty()
        && name.trim() == name
        && name.chars().count() <= NAME_CHARACTERS_MAX
        && !name.chars().any(char::is_control);
    if is_fine {
        return Ok(());
    }
    Err(Fault::invalid_parameter(format!(
        "the name of a view has 1 to {NAME_CHARACTERS_MAX} characters, no space at its ends and no control characters"
    )))
}

fn show(view: SavedView) -> SavedViewView {
    SavedViewView {
        name: view.name,
        query: view.query,
        by: view.by,
        at: view.at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_can_be_read() {
        for name in ["a", "dead at Stripe", "é", &"x".repeat(NAME_CHARACTERS_MAX)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", " ", " a", "a ", "a\nb", &"x".repeat(NAME_CHARACTERS_MAX + 1)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
