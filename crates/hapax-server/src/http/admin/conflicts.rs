//! `GET events/{id}/conflicts/{hash}/payload` and `POST …/release`: other bodies under a known id.

use axum::Json;
use axum::extract::State;
use axum::response::Response;

use super::access::Actor;
use super::diff;
use super::events::{self, raw};
use super::extract::{Named, body_hash, event_id};
use super::fault::{Answer, Fault, Missing};
use super::state::AdminState;
use super::views::{DiffView, ReleasedView};
use crate::telemetry::lines;

/// Gives another body that came under the id of an event, byte for byte.
#[utoipa::path(get, path = "/events/{id}/conflicts/{hash}/payload", operation_id = "getConflictPayload", tag = "events",
    params(("id" = String, Path, description = "The id that Hapax gave the event.", format = "uuid"), ("hash" = String, Path, description = "SHA-256 of the other body, in hexadecimal.", pattern = "^[0-9a-f]{64}$")),
    responses((status = 200, description = "The body.", content_type = "*/*", body = Value)),
    extensions(("x-problems" = json!(["invalid_parameter", "conflict_not_found"])))
)]
pub(super) async fn payload(
    State(state): State<AdminState>,
    Named((id, hash)): Named<(String, String)>,
) -> Answer<Response> {
    let (first, raw_hash) = (event_id(&id)?, body_hash(&hash)?);
    let variant = state.engine.store().conflict(first, raw_hash).await?;
    let variant = variant.ok_or_else(|| missing(&id, &hash))?;
    Ok(raw(&variant.headers, variant.body))
}

/// Makes an event of its own of another body that came under the id of an event.
///
/// Doing it twice makes one event.
#[utoipa::path(post, path = "/events/{id}/conflicts/{hash}/release", operation_id = "releaseConflict", tag = "events",
    params(("id" = String, Path, description = "The id that Hapax gave the event.", format = "uuid"), ("hash" = String, Path, description = "SHA-256 of the other body, in hexadecimal.", pattern = "^[0-9a-f]{64}$")),
    responses((status = 200, description = "The new event.", body = ReleasedView)),
    extensions(("x-problems" = json!(["invalid_parameter", "conflict_not_found", "unknown_source", "rate_limited"])))
)]
pub(super) async fn release(
    State(state): State<AdminState>,
    Actor(who): Actor,
    Named((id, hash)): Named<(String, String)>,
) -> Answer<Json<ReleasedView>> {
    released(&state, &id, &hash, &who).await.map(Json)
}

/// Compares another body that came under the id of an event with the first one, line by line.
#[utoipa::path(get, path = "/events/{id}/conflicts/{hash}/diff", operation_id = "diffConflict", tag = "events",
    params(("id" = String, Path, description = "The id that Hapax gave the event.", format = "uuid"),
        ("hash" = String, Path, description = "SHA-256 of the other body, in hexadecimal.", pattern = "^[0-9a-f]{64}$")),
    responses((status = 200, description = "Where they differ.", body = DiffView)),
    extensions(("x-problems" = json!(["invalid_parameter", "event_not_found", "conflict_not_found"])))
)]
pub(super) async fn compare(
    State(state): State<AdminState>,
    Named((id, hash)): Named<(String, String)>,
) -> Answer<Json<DiffView>> {
    compared(&state, &id, &hash).await.map(Json)
}

/// Where a quarantined body differs from the first one.
pub(in crate::http) async fn compared(state: &AdminState, id: &str, hash: &str) -> Answer<DiffView> {
    let (first, raw_hash) = (event_id(id)?, body_hash(hash)?);
    let record = events::record(state, first).await?;
    let variant = state.engine.store().conflict(first, raw_hash).await?;
    let variant = variant.ok_or_else(|| missing(id, hash))?;
    Ok(diff::of(&record.event.body, &variant.body))
}

/// Makes an event of a quarantined body.
pub(in crate::http) async fn released(
    state: &AdminState,
    id: &str,
    hash: &str,
    who: &str,
) -> Answer<ReleasedView> {
    let (first, raw_hash) = (event_id(id)?, body_hash(hash)?);
    let released = state.engine.release_conflict(first, raw_hash, who).await?;
    let released = released.ok_or_else(|| missing(id, hash))?;
    // Whoever is refused here may ask again: doing it twice makes one event.
    let record = events::record(state, released).await?;
    lines::released(&record.event, first, who);
    Ok(ReleasedView {
        first,
        body_sha256: raw_hash.to_string(),
        id: released,
    })
}

fn missing(id: &str, hash: &str) -> Fault {
    let detail = format!("event {id} has no quarantined body {hash}; `hapax events show {id}` lists them");
    Fault::not_found(Missing::Conflict, detail)
}
