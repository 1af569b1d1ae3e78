//! `POST /views` and `POST /views/delete`: queries with a name, saved and deleted from the events page.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};

use super::done::Done;
use super::events::address;
use super::viewer::Changing;
use crate::http::admin::AdminState;
use crate::http::admin::fault::Answer;
use crate::http::admin::saved;

/// Saves what is searched for.
pub(super) async fn save(
    State(state): State<AdminState>,
    Changing(viewer, fields): Changing,
) -> Answer<Response> {
    let name = fields.filled("name").unwrap_or_default().to_owned();
    let query = fields.filled("q").unwrap_or_default().to_owned();
    let view = saved::save(&state, name, query, viewer.who).await?;
    Ok(back(&view.query, Done::ViewSaved))
}

/// Deletes a saved view.
pub(super) async fn delete(
    State(state): State<AdminState>,
    Changing(viewer, fields): Changing,
) -> Answer<Response> {
    let name = fields.get("name").unwrap_or_default().to_owned();
    saved::remove(&state, name, viewer.who).await?;
    Ok(back("", Done::ViewDeleted))
}

fn back(query: &str, done: Done) -> Response {
    let address = address(query, None);
    let joint = if address.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{address}{joint}done={}", done.code())).into_response()
}
