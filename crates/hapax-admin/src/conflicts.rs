//! `GET events/{id}/conflicts/{hash}/payload` and `POST …/release`: conflicting bodies of an event.

use axum::Json;
use axum::response::Response;
use hapax_core::store::{Actor, ConflictingBody};
use hapax_core::{BodyHash, EventId};

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::diff;
use super::events::{self, raw};
use super::extract::{PathParams, body_hash, event_id};
use super::sight;
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::views::{DiffView, ReleasedView};
use hapax_config::Role;
use hapax_telemetry::lines;

/// Returns a conflicting body, byte for byte except for redacted fields.
#[utoipa::path(get, path = "/events/{id}/conflicts/{hash}/payload", operation_id = "getConflictPayload", tag = "events",
    params(("id" = String, Path, description = "The Hapax id of the event.", format = "uuid"), ("hash" = String, Path, description = "SHA-256 of the conflicting body, in hexadecimal.", pattern = "^[0-9a-f]{64}$")),
    responses((status = 200, description = "The body.", content_type = "*/*", body = Value)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::ConflictNotFound])))
)]
pub(super) async fn payload(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams((id, hash)): PathParams<(String, String)>,
) -> ApiResult<Response> {
    let other_body = visible(&state, caller.role, event_id(&id)?, body_hash(&hash)?).await?;
    let other_body = other_body.ok_or_else(|| missing(&id, &hash))?;
    Ok(raw(&other_body.headers, other_body.body))
}

/// Releases a conflicting body as a separate event.
///
/// Releasing it twice creates one event.
#[utoipa::path(post, path = "/events/{id}/conflicts/{hash}/release", operation_id = "releaseConflict", tag = "events",
    params(("id" = String, Path, description = "The Hapax id of the event.", format = "uuid"), ("hash" = String, Path, description = "SHA-256 of the conflicting body, in hexadecimal.", pattern = "^[0-9a-f]{64}$")),
    responses((status = 200, description = "The new event.", body = ReleasedView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::ConflictNotFound, Code::UnknownSource, Code::RateLimited])))
)]
pub(super) async fn release(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams((id, hash)): PathParams<(String, String)>,
) -> ApiResult<Json<ReleasedView>> {
    released(&state, &id, &hash, &caller.actor).await.map(Json)
}

/// Compares a conflicting body with the first body, line by line.
#[utoipa::path(get, path = "/events/{id}/conflicts/{hash}/diff", operation_id = "diffConflict", tag = "events",
    params(("id" = String, Path, description = "The Hapax id of the event.", format = "uuid"),
        ("hash" = String, Path, description = "SHA-256 of the conflicting body, in hexadecimal.", pattern = "^[0-9a-f]{64}$")),
    responses((status = 200, description = "The differences.", body = DiffView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::EventNotFound, Code::ConflictNotFound])))
)]
pub(super) async fn compare(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams((id, hash)): PathParams<(String, String)>,
) -> ApiResult<Json<DiffView>> {
    let (first, raw_hash) = (event_id(&id)?, body_hash(&hash)?);
    let record = events::visible(&state, caller.role, first).await?;
    let other_body = visible(&state, caller.role, first, raw_hash).await?;
    let other_body = other_body.ok_or_else(|| missing(&id, &hash))?;
    Ok(Json(diff::of(&record.event.body, &other_body.body)))
}

/// A conflicting body as the caller may see it.
pub async fn visible(
    state: &AdminState,
    role: Role,
    first: EventId,
    raw_hash: BodyHash,
) -> ApiResult<Option<ConflictingBody>> {
    let other_body = find(state, first, raw_hash).await?;
    Ok(other_body.map(|other_body| sight::other_body(&state.settings.load(), role, other_body)))
}

/// Releases a conflicting body as an event.
pub async fn released(state: &AdminState, id: &str, hash: &str, who: &Actor) -> ApiResult<ReleasedView> {
    let (first, raw_hash) = (event_id(id)?, body_hash(hash)?);
    find(state, first, raw_hash)
        .await?
        .ok_or_else(|| missing(id, hash))?;
    let released = state.engine.release_conflict(first, raw_hash, who).await?;
    let released = released.ok_or_else(|| missing(id, hash))?;
    // If this fails, the caller can retry: releasing twice creates one event.
    let record = events::record(state, released).await?;
    lines::released(&record.event, first, &who.name);
    Ok(ReleasedView {
        first,
        body_sha256: raw_hash.to_string(),
        id: released,
    })
}

/// A conflicting body of a source that the caller sees.
async fn find(state: &AdminState, first: EventId, raw_hash: BodyHash) -> ApiResult<Option<ConflictingBody>> {
    let other_body = state.engine.store().conflict(first, raw_hash).await?;
    Ok(other_body.filter(|other_body| state.visible.sees(other_body.source.as_str())))
}

fn missing(id: &str, hash: &str) -> ApiError {
    let detail = format!("event {id} has no conflict with hash {hash}; `hapax events show {id}` lists them");
    ApiError::new(Code::ConflictNotFound, detail)
}
