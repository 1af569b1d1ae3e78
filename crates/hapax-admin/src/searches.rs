//! `GET searches`, `PUT searches/{name}`, `DELETE searches/{name}`: saved searches.
//!
//! A saved search keeps its query as typed, so that `since:2h` always means the last two hours.

use axum::Json;
use hapax_core::store::{Actor, SAVED_SEARCHES_MAX, SavedSearch, Swapped, ValueSpace, ValueSwap};
use serde::Deserialize;
use utoipa::ToSchema;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::extract::{JsonBody, PathParams};
use super::filter;
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::query;
use hapax_api::views::{DeletedSearchView, SavedSearchView, SavedSearchesView};

/// Maximum length of a saved search's name.
const NAME_CHARACTERS_MAX: usize = 64;

/// A query to save.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SavedSearchQuery, example = json!({ "query": "status:dead since:24h" }))]
pub(crate) struct SavedSearchBody {
    /// The query, in the query language.
    #[schema(schema_with = hapax_api::schemas::query_text)]
    query: String,
}

/// Lists the saved searches.
#[utoipa::path(get, path = "/searches", operation_id = "listSavedSearches", tag = "queries",
    responses((status = 200, description = "All saved searches.", body = SavedSearchesView)))]
pub(super) async fn list(Narrowed(state): Narrowed) -> ApiResult<Json<SavedSearchesView>> {
    all(&state).await.map(Json)
}

/// Saves a query under a name, replacing any saved search with that name.
#[utoipa::path(put, path = "/searches/{name}", operation_id = "saveSavedSearch", tag = "queries",
    params(("name" = String, Path, description = "The name of the saved search, 1 to 64 characters.", min_length = 1, max_length = 64, pattern = "^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$")),
    request_body = SavedSearchBody,
    responses((status = 200, description = "The saved search.", body = SavedSearchView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::MalformedBody, Code::BodyTooLarge, Code::TooManySavedSearches])))
)]
pub(super) async fn put(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<SavedSearchBody>,
) -> ApiResult<Json<SavedSearchView>> {
    save(&state, name, body.query, &caller.actor).await.map(Json)
}

/// Deletes a saved search.
#[utoipa::path(delete, path = "/searches/{name}", operation_id = "deleteSavedSearch", tag = "queries",
    params(("name" = String, Path, description = "The name of the saved search, 1 to 64 characters.", min_length = 1, max_length = 64, pattern = "^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$")),
    responses((status = 200, description = "The saved search was deleted.", body = DeletedSearchView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::SavedSearchNotFound])))
)]
pub(super) async fn delete(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(name): PathParams<String>,
) -> ApiResult<Json<DeletedSearchView>> {
    remove(&state, name, &caller.actor).await.map(Json)
}

/// Every saved search, ordered by name.
pub async fn all(state: &AdminState) -> ApiResult<SavedSearchesView> {
    let values = state.engine.store().values(&ValueSpace::SavedSearches).await?;
    Ok(SavedSearchesView {
        searches: values
            .iter()
            .filter_map(|value| SavedSearch::from_value(&value.value))
            .map(|search| SavedSearch {
                query: query::translate(&search.query),
                ..search
            })
            .filter(|search| is_visible(state, search))
            .map(show)
            .collect(),
    })
}

/// Whether a saved search concerns a source that the caller sees.
fn is_visible(state: &AdminState, search: &SavedSearch) -> bool {
    let source = || filter::read(state, &search.query).ok()?.source;
    state.visible.is_all() || source().is_some_and(|source| state.visible.sees(source.as_str()))
}

/// Saves a query, replacing any saved search with that name.
pub async fn save(
    state: &AdminState,
    name: String,
    query: String,
    who: &Actor,
) -> ApiResult<SavedSearchView> {
    check_name(&name)?;
    let read = filter::read(state, &query)?;
    if read == hapax_core::store::EventQuery::default() {
        return Err(ApiError::invalid_parameter(
            "`query` is empty, which matches everything; a saved search needs at least one term, such as status:dead",
        ));
    }
    let at = state.now();
    let by = who.name.clone();
    let search = SavedSearch { name, query, by, at };
    let put = ValueSwap::put(ValueSpace::SavedSearches, search.to_value());
    if state.engine.store().swap_value(put).await? == Swapped::Full {
        return Err(ApiError::too_many_saved_searches(SAVED_SEARCHES_MAX));
    }
    let entry = who.entry("saved_search.save", search.name.as_str(), search.query.as_str());
    state.engine.record(entry).await?;
    Ok(show(search))
}

/// Deletes a saved search.
pub async fn remove(state: &AdminState, name: String, who: &Actor) -> ApiResult<DeletedSearchView> {
    check_name(&name)?;
    let gone = ValueSwap::take(ValueSpace::SavedSearches, name.as_str(), None);
    if !state.engine.store().swap_value(gone).await?.is_done() {
        let detail = format!("there is no saved search `{name}`; run `hapax searches list` to see them all");
        return Err(ApiError::new(Code::SavedSearchNotFound, detail));
    }
    let entry = who.entry("saved_search.delete", name.as_str(), "");
    state.engine.record(entry).await?;
    Ok(DeletedSearchView { name })
}

fn check_name(name: &str) -> ApiResult<()> {
    let is_fine = !name.trim().is_empty()
        && name.trim() == name
        && name.chars().count() <= NAME_CHARACTERS_MAX
        && !name.chars().any(char::is_control);
    if is_fine {
        return Ok(());
    }
    Err(ApiError::invalid_parameter(format!(
        "the name of a saved search must have 1 to {NAME_CHARACTERS_MAX} characters, without spaces at its ends or \
         control characters"
    )))
}

fn show(search: SavedSearch) -> SavedSearchView {
    SavedSearchView {
        name: search.name,
        query: search.query,
        by: search.by,
        at: search.at,
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
