//! `GET events`, `GET events/{id}`, `GET events/{id}/payload`.

use axum::Json;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hapax_core::store::{EventQuery, EventRecord, EventSummary};
use hapax_core::{EventId, Headers};
use hapax_engine::{Found, SearchCursor};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::extract::{PathParams, QueryParams, event_id};
use super::facts;
use super::filter::{EventListParameters, search_cursor_text};
use super::show;
use super::sight::{self, VisibleRecord};
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::views::{EventPageView, EventView};
use hapax_config::Role;

/// Maximum number of pages to scan for one page of results if the caller sees several but not all sources.
const PAGES_MAX: usize = 8;

/// Lists events, newest first.
///
/// A value in a body is looked up in the index if the source indexes the field. Otherwise the search reads the newest
/// 50,000 bodies across all pages, and `coverage` says so.
#[utoipa::path(get, path = "/events", operation_id = "listEvents", tag = "events",
    params(EventListParameters),
    responses((status = 200, description = "A page of events.", body = EventPageView)),
    extensions(("x-problems" = json!([Code::InvalidParameter])))
)]
pub(super) async fn list(
    Narrowed(state): Narrowed,
    caller: Caller,
    QueryParams(parameters): QueryParams<EventListParameters>,
) -> ApiResult<Json<EventPageView>> {
    let (query, after, limit) = parameters.into_query(&state)?;
    page(&state, caller.role, &query, after, limit).await.map(Json)
}

/// Shows one event.
///
/// Includes its deliveries, attempts, duplicates and conflicts. Credentials in headers are redacted; for tokens with
/// the role `read`, signatures are, too.
#[utoipa::path(get, path = "/events/{id}", operation_id = "getEvent", tag = "events",
    params(("id" = String, Path, description = "The Hapax id of the event.", format = "uuid")),
    responses((status = 200, description = "The event.", body = EventView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::EventNotFound])))
)]
pub(super) async fn show(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<EventView>> {
    let record = visible(&state, caller.role, event_id(&id)?).await?;
    facts::event(&state, &record, state.now()).await.map(Json)
}

/// Returns the body of an event, byte for byte except for redacted fields.
///
/// It has the content type that the provider sent, and is served as an attachment that browsers do not execute.
#[utoipa::path(get, path = "/events/{id}/payload", operation_id = "getEventPayload", tag = "events",
    params(("id" = String, Path, description = "The Hapax id of the event.", format = "uuid")),
    responses((status = 200, description = "The body.", content_type = "*/*", body = Value)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::EventNotFound])))
)]
pub(super) async fn payload(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> ApiResult<Response> {
    let record = visible(&state, caller.role, event_id(&id)?).await?;
    Ok(raw(&record.event.headers, record.event.body.clone()))
}

/// One page of a search.
pub async fn page(
    state: &AdminState,
    role: Role,
    query: &EventQuery,
    after: Option<SearchCursor>,
    limit: u32,
) -> ApiResult<EventPageView> {
    sight::check_search(&state.settings.load(), role, query)?;
    let found = search(state, query, after, limit).await?;
    Ok(EventPageView {
        events: found.events.into_iter().map(show::summary).collect(),
        next: found.next.map(search_cursor_text),
        coverage: show::coverage(found.coverage),
    })
}

/// The matching events of the sources that the caller sees. If these are several, a limited number of pages of all
/// sources is filtered; like any page, the result may be short and still have a cursor.
pub(super) async fn search(
    state: &AdminState,
    query: &EventQuery,
    after: Option<SearchCursor>,
    limit: u32,
) -> ApiResult<Found> {
    // The existence of another page would reveal the contents of events that the caller may not see.
    let asks_of_content = query.event_id.is_some() || query.event_type.is_some() || !query.body.is_empty();
    let query = if asks_of_content {
        state.visible.narrow_to_one(query.clone())?
    } else {
        state.visible.narrow(query.clone())?
    };
    let mut found = state.engine.search(&query, after, limit).await?;
    let is_visible = |event: &EventSummary| state.visible.sees(event.source.as_str());
    found.events.retain(is_visible);
    for _ in 1..PAGES_MAX {
        let room = limit.saturating_sub(found.events.len() as u32);
        let (Some(next), true) = (found.next, room > 0) else {
            break;
        };
        if query.source.is_some() || state.visible.is_all() {
            break;
        }
        let more = state.engine.search(&query, Some(next), room).await?;
        found.events.extend(more.events.into_iter().filter(is_visible));
        (found.next, found.coverage) = (more.next, more.coverage);
    }
    Ok(found)
}

/// An event as the caller may see it.
pub async fn visible(state: &AdminState, role: Role, id: EventId) -> ApiResult<VisibleRecord> {
    let record = record(state, id).await?;
    Ok(sight::record(&state.settings.load(), role, record))
}

/// The stored event. It must not be shown without redaction.
pub(crate) async fn record(state: &AdminState, id: EventId) -> ApiResult<EventRecord> {
    let record = state.engine.store().get(id).await?;
    let record = record.filter(|record| state.visible.sees(record.event.source.as_str()));
    record.ok_or_else(|| ApiError::new(Code::EventNotFound, show::no_event(id)))
}

/// Whether the caller sees an event.
pub(super) async fn is_visible(state: &AdminState, id: EventId) -> ApiResult<bool> {
    let record = state.engine.store().get(id).await?;
    Ok(record.is_some_and(|record| state.visible.sees(record.event.source.as_str())))
}

/// Answers as if the event did not exist if the caller does not see it.
pub async fn check_visible(state: &AdminState, id: EventId) -> ApiResult<()> {
    if state.visible.is_all() || is_visible(state, id).await? {
        return Ok(());
    }
    Err(ApiError::new(Code::EventNotFound, show::no_event(id)))
}

/// A body as it arrived. The provider controls its bytes and its content type: a browser must neither guess another
/// type nor execute anything in it, since it would run in the origin of the admin API.
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
