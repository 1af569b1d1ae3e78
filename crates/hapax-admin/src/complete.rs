//! `GET query/complete`: completion for the query that a user is typing.

use std::collections::BTreeSet;

use axum::Json;
use hapax_core::store::EventQuery;
use serde::Deserialize;
use utoipa::IntoParams;

use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::events;
use super::extract::{PAGE_MAX, QueryParams};
use super::filter;
use super::state::{AdminState, Settings};
use hapax_api::problem::Code;
use hapax_api::query::{self, Known, QUERY_BYTES_MAX, Suggestion};
use hapax_api::views::{CompletionView, SuggestionView};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Typed {
    /// The query as typed so far.
    #[param(max_length = 2048)]
    q: String,
}

/// Suggests completions for a query, and reports what is wrong with it.
#[utoipa::path(get, path = "/query/complete", operation_id = "completeQuery", tag = "queries",
    params(Typed),
    responses((status = 200, description = "Suggestions for the last term.", body = CompletionView)),
    extensions(("x-problems" = json!([Code::InvalidParameter])))
)]
pub(super) async fn complete(
    Narrowed(state): Narrowed,
    QueryParams(typed): QueryParams<Typed>,
) -> ApiResult<Json<CompletionView>> {
    completion(&state, &typed.q).await.map(Json)
}

/// Suggestions for the last term of a query, and what is wrong with the query.
pub(crate) async fn completion(state: &AdminState, text: &str) -> ApiResult<CompletionView> {
    if text.len() > QUERY_BYTES_MAX {
        return Err(ApiError::invalid_parameter(format!(
            "`q` has {} bytes; the limit is {QUERY_BYTES_MAX}",
            text.len()
        )));
    }
    let settings = state.settings.load();
    let mut known = names(&settings);
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    if last.starts_with("type:") {
        known.types = types(state).await?;
    }
    let suggestions = query::complete(text, &known).into_iter().map(show);
    let problem = filter::read(state, text).err().map(|fault| fault.detail());
    Ok(CompletionView {
        suggestions: suggestions.collect(),
        problem,
    })
}

fn names(settings: &Settings) -> Known {
    Known {
        sources: settings
            .sources
            .iter()
            .map(|source| source.name.clone())
            .collect(),
        destinations: settings
            .destinations
            .iter()
            .map(|destination| destination.name.clone())
            .collect(),
        pointers: pointers(settings),
        ..Known::default()
    }
}

/// The pointers that at least one source indexes.
fn pointers(settings: &Settings) -> Vec<String> {
    let indexed = settings
        .sources
        .iter()
        .flat_map(|source| source.indexed.iter().cloned());
    indexed.collect::<BTreeSet<String>>().into_iter().collect()
}

/// The types of the newest events, which most searches are for.
async fn types(state: &AdminState) -> ApiResult<Vec<String>> {
    let found = events::search(state, &EventQuery::default(), None, PAGE_MAX).await?;
    let types: BTreeSet<String> = found
        .events
        .into_iter()
        .filter_map(|event| event.event_type)
        .collect();
    Ok(types.into_iter().collect())
}

fn show(suggestion: Suggestion) -> SuggestionView {
    SuggestionView {
        term: suggestion.term,
        help: suggestion.help,
    }
}
