//! `GET events`, `GET events/{id}`, `GET events/{id}/payload`.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hapax_core::{Clock as _, Headers, SystemClock};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

use super::extract::{Asked, EventListParameters, Named, cursor_text, event_id};
use super::facts;
use super::fault::{Answer, Fault, Missing};
use super::show;
use super::state::AdminState;
use super::views::{EventPageView, EventView};

pub(super) async fn list(
    State(state): State<AdminState>,
    Asked(parameters): Asked<EventListParameters>,
) -> Answer<Json<EventPageView>> {
    let (query, after, limit) = parameters.into_query()?;
    let page = state.engine.store().list(&query, after, limit).await?;
    let events = page.events.into_iter().map(show::summary).collect();
    Ok(Json(EventPageView {
        events,
        next: page.next.map(cursor_text),
    }))
}

pub(super) async fn show(
    State(state): State<AdminState>,
    Named(id): Named<String>,
) -> Answer<Json<EventView>> {
    let id = event_id(&id)?;
    let record = state.engine.store().get(id).await?;
    let record = record.ok_or_else(|| Fault::not_found(Missing::Event, show::no_event(id)))?;
    Ok(Json(
        facts::event(&state, &record, SystemClock::default().now()).await?,
    ))
}

pub(super) async fn payload(State(state): State<AdminState>, Named(id): Named<String>) -> Answer<Response> {
    let id = event_id(&id)?;
    let record = state.engine.store().get(id).await?;
    let record = record.ok_or_else(|| Fault::not_found(Missing::Event, show::no_event(id)))?;
    Ok(raw(&record.event.headers, record.event.body))
}

/// A body as it arrived. A sender chooses both its bytes and its type: a browser must neither guess
/// another type nor run anything in it, since it would run on the origin of the admin API.
pub(super) fn raw(headers: &Headers, body: Bytes) -> Response {
    let content_type = headers
        .get(CONTENT_TYPE.as_str())
        .and_then(|value| HeaderValue::from_bytes(value).ok())
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let fixed = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (CONTENT_DISPOSITION, "attachment"),
    ];
    let mut response = (fixed, body).into_response();
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
