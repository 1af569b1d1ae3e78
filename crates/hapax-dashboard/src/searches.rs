//! `POST /searches` and `POST /searches/delete`: saves and deletes searches from the events page.

use axum::response::{IntoResponse, Redirect, Response};

use super::done::Done;
use super::events::address;
use super::viewer::Acting;
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::searches;

/// Saves the current search.
pub(super) async fn save(Narrowed(state): Narrowed, Acting(viewer, fields): Acting) -> ApiResult<Response> {
    let name = fields.filled("name").unwrap_or_default().to_owned();
    let query = fields.filled("q").unwrap_or_default().to_owned();
    let search = searches::save(&state, name, query, &viewer.caller.actor).await?;
    Ok(back(&search.query, Done::SearchSaved))
}

/// Deletes a saved search.
pub(super) async fn delete(Narrowed(state): Narrowed, Acting(viewer, fields): Acting) -> ApiResult<Response> {
    let name = fields.get("name").unwrap_or_default().to_owned();
    searches::remove(&state, name, &viewer.caller.actor).await?;
    Ok(back("", Done::SearchDeleted))
}

fn back(query: &str, done: Done) -> Response {
    let address = address(query, None);
    let joint = if address.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{address}{joint}done={}", done.code())).into_response()
}
