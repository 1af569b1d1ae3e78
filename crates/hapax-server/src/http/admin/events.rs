//! `GET events`, `GET events/{id}`, `GET events/{id}/payload`.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hapax_core::store::{EventQuery, EventRecord};
use hapax_core::{Clock as _, EventId, Headers, SystemClock};
use hapax_engine::SearchCursor;
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

use super::access::{Asking, Role};
use super::extract::{Asked, Named, event_id};
use super::facts;
use super::fault::{Answer, Fault, Missing};
use super::filter::{EventListParameters, search_cursor_text};
use super::show;
use super::sight::{self, VisibleRecord};
use super::state::AdminState;
use super::views::{EventPageView, EventView};

/// Lists events, the newest first.
///
/// A value in a body is looked up where the source has that field indexed; otherwise the newest 50,000 bodies are read
/// over all pages of a search, and `coverage` says so.
#[utoipa::path(get, path = "/events", operation_id = "listEvents", tag = "events",
    params(EventListParameters),
    responses((status = 200, description = "A page of events.", body = EventPageView)),
    extensions(("x-problems" = json!(["invalid_parameter"])))
)]
pub(super) async fn list(
    State(state): State<AdminState>,
    Asking(role): Asking,
    Asked(parameters): Asked<EventListParameters>,
) -> Answer<Json<EventPageView>> {
    let (query, after, limit) = parameters.into_query(&state.settings.load())?;
    page(&state, role, &query, after, limit).await.map(Json)
}

/// Shows one event.
///
/// Its deliveries, every attempt, its copies and conflicts. Credentials in headers are hidden; from a token that may only
/// read, signatures are, too.
#[utoipa::path(get, path = "/events/{id}", operation_id = "getEvent", tag = "events",
    params(("id" = String, Path, description = "The id that Hapax gave the event.", format = "uuid")),
    responses((status = 200, description = "The event.", body = EventView)),
    extensions(("x-problems" = json!(["invalid_parameter", "event_not_found"])))
)]
pub(super) async fn show(
    State(state): State<AdminState>,
    Asking(role): Asking,
    Named(id): Named<String>,
) -> Answer<Json<EventView>> {
    let record = visible(&state, role, event_id(&id)?).await?;
    facts::event(&state, &record, SystemClock::default().now())
        .await
        .map(Json)
}

/// Gives the body of an event, byte for byte but for the fields that its source redacts.
///
/// Under the type that its sender gave, to be saved and never to be run.
#[utoipa::path(get, path = "/events/{id}/payload", operation_id = "getEventPayload", tag = "events",
    params(("id" = String, Path, description = "The id that Hapax gave the event.", format = "uuid")),
    responses((status = 200, description = "The body.", content_type = "*/*", body = Value)),
    extensions(("x-problems" = json!(["invalid_parameter", "event_not_found"])))
)]
pub(super) async fn payload(
    State(state): State<AdminState>,
    Asking(role): Asking,
    Named(id): Named<String>,
) -> Answer<Response> {
    let record = visible(&state, role, event_id(&id)?).await?;
    Ok(raw(&record.event.headers, record.event.body.clone()))
}

/// One page of a search.
pub(in crate::http) async fn page(
    state: &AdminState,
    role: Role,
    query: &EventQuery,
    after: Option<SearchCursor>,
    limit: u32,
) -> Answer<EventPageView> {
    sight::check_search(&state.settings.load(), role, query)?;
    let found = state.engine.search(query, after, limit).await?;
    Ok(EventPageView {
        events: found.events.into_iter().map(show::summary).collect(),
        next: found.next.map(search_cursor_text),
        coverage: show::coverage(found.coverage),
    })
}

/// An event as this role may see it.
pub(in crate::http) async fn visible(state: &AdminState, role: Role, id: EventId) -> Answer<VisibleRecord> {
    let record = record(state, id).await?;
    Ok(sight::record(&state.settings.load(), role, record))
}

/// What the store has of an event: not to be shown.
pub(in crate::http) async fn record(state: &AdminState, id: EventId) -> Answer<EventRecord> {
    let record = state.engine.store().get(id).await?;
    record.ok_or_else(|| Fault::not_found(Missing::Event, show::no_event(id)))
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
