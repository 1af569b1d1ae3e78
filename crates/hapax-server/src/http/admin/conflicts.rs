//! `GET events/{id}/conflicts/{hash}/payload` and `POST …/release`: other bodies under a known id.

use axum::Json;
use axum::extract::State;
use axum::response::Response;

use super::access::Actor;
use super::events::raw;
use super::extract::{Named, body_hash, event_id};
use super::fault::{Answer, Fault, Missing};
use super::state::AdminState;
use super::views::ReleasedView;

pub(super) async fn payload(
    State(state): State<AdminState>,
    Named((id, hash)): Named<(String, String)>,
) -> Answer<Response> {
    let (first, raw_hash) = (event_id(&id)?, body_hash(&hash)?);
    let variant = state.engine.store().conflict(first, raw_hash).await?;
    let variant = variant.ok_or_else(|| missing(&id, &hash))?;
    Ok(raw(&variant.headers, variant.body))
}

pub(super) async fn release(
    State(state): State<AdminState>,
    Actor(who): Actor,
    Named((id, hash)): Named<(String, String)>,
) -> Answer<Json<ReleasedView>> {
    released(&state, &id, &hash, &who).await.map(Json)
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
    Ok(ReleasedView {
        first,
        body_sha256: raw_hash.to_string(),
        id: released.ok_or_else(|| missing(id, hash))?,
    })
}

fn missing(id: &str, hash: &str) -> Fault {
    let detail = format!("event {id} has no quarantined body {hash}; `hapax events show {id}` lists them");
    Fault::not_found(Missing::Conflict, detail)
}
