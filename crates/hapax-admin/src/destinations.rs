//! `GET destinations`, `POST destinations/{name}/pause`, `POST destinations/{name}/resume`.

use axum::Json;
use hapax_core::DestinationId;
use hapax_core::store::{Actor, Counts, Pause};
use serde::Deserialize;
use utoipa::ToSchema;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::ApiResult;
use super::extract::{JsonBody, PathParams};
use super::replays::check_why;
use super::show;
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::views::{DestinationView, DestinationsView, PauseView, ResumedView};

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = PauseReason, example = json!({ "why": "billing is being moved" }))]
pub(super) struct Reason {
    /// The reason, which is kept in the audit trail.
    #[schema(max_length = 1024)]
    why: String,
}

/// Lists the destinations with their pauses, circuit breakers and running attempts.
#[utoipa::path(get, path = "/destinations", operation_id = "listDestinations", tag = "destinations",
    responses((status = 200, description = "All destinations.", body = DestinationsView)))]
pub(super) async fn list(Narrowed(state): Narrowed) -> ApiResult<Json<DestinationsView>> {
    every(&state).await.map(Json)
}

/// Pauses a destination until it is resumed. A pause survives restarts.
#[utoipa::path(post, path = "/destinations/{name}/pause", operation_id = "pauseDestination", tag = "destinations",
    params(("name" = String, Path, description = "The destination's name, or its id.", min_length = 1)),
    request_body = Reason,
    responses((status = 200, description = "The destination is paused.", body = PauseView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::MalformedBody, Code::BodyTooLarge, Code::UnknownDestination])))
)]
pub(super) async fn pause(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(name): PathParams<String>,
    JsonBody(asked): JsonBody<Reason>,
) -> ApiResult<Json<PauseView>> {
    paused(&state, &name, &caller.actor, asked.why).await.map(Json)
}

/// Resumes a destination.
#[utoipa::path(post, path = "/destinations/{name}/resume", operation_id = "resumeDestination", tag = "destinations",
    params(("name" = String, Path, description = "The destination's name, or its id.", min_length = 1)),
    responses((status = 200, description = "The destination was resumed.", body = ResumedView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::UnknownDestination])))
)]
pub(super) async fn resume(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(name): PathParams<String>,
) -> ApiResult<Json<ResumedView>> {
    resumed(&state, &name, &caller.actor).await.map(Json)
}

/// All destinations and their states.
pub(crate) async fn every(state: &AdminState) -> ApiResult<DestinationsView> {
    let store = state.engine.store();
    let (counts, pauses) = (state.counts.read(store).await?, store.pauses().await?);
    Ok(DestinationsView {
        destinations: all(state, &counts, &pauses),
    })
}

/// Pauses a destination.
pub async fn paused(state: &AdminState, name: &str, who: &Actor, why: String) -> ApiResult<PauseView> {
    let id = state.settings.load().destination(name)?;
    check_why(&why)?;
    state.engine.pause(id.clone(), who, &why).await?;
    let pauses = state.engine.store().pauses().await?;
    let stored = pauses
        .into_iter()
        .find(|pause| pause.destination == id)
        .map(show::pause);
    // If it was resumed between the two steps, answer with the pause as it was requested.
    let at = state.now();
    Ok(stored.unwrap_or(PauseView {
        destination_id: id.to_string(),
        at,
        by: who.name.clone(),
        why,
    }))
}

/// Resumes a destination.
pub async fn resumed(state: &AdminState, name: &str, who: &Actor) -> ApiResult<ResumedView> {
    let known = state.settings.load().destination(name);
    let id = match known {
        Ok(id) => id,
        Err(fault) if !state.visible.is_all() => return Err(fault),
        Err(fault) => {
            // A destination that was removed while it was paused can still be resumed, by its id.
            let pauses = state.engine.store().pauses().await?;
            let found = pauses
                .into_iter()
                .find(|pause| pause.destination.as_str() == name);
            found.map(|pause| pause.destination).ok_or(fault)?
        }
    };
    let was_paused = state.engine.resume(&id, who).await?;
    Ok(ResumedView {
        destination_id: id.to_string(),
        was_paused,
    })
}

/// All configured destinations, and others that still have deliveries or are paused.
pub fn all(state: &AdminState, counts: &Counts, pauses: &[Pause]) -> Vec<DestinationView> {
    let settings = state.settings.load();
    let mut views: Vec<DestinationView> = settings
        .destinations
        .iter()
        .map(super::DestinationSettings::view)
        .collect();
    let others = counts.backlog.iter().map(|backlog| &backlog.destination);
    let others = others.chain(pauses.iter().map(|pause| &pause.destination));
    for id in others.filter(|_| state.visible.is_all()) {
        if !views.iter().any(|view| view.id == id.as_str()) {
            views.push(removed(id));
        }
    }
    for port in state.engine.destinations() {
        let Some(view) = views.iter_mut().find(|view| view.id == port.id.as_str()) else {
            continue;
        };
        view.running = port.running;
        view.concurrency = port.concurrency;
        view.breaker_open_ms = port.breaker_open_for.map(|open_for| open_for.as_millis() as u64);
    }
    for pause in pauses {
        if let Some(view) = views
            .iter_mut()
            .find(|view| view.id == pause.destination.as_str())
        {
            view.paused = Some(show::pause(pause.clone()));
        }
    }
    views.sort_by(|one, other| one.name.cmp(&other.name));
    views
}

fn removed(id: &DestinationId) -> DestinationView {
    DestinationView {
        name: id.to_string(),
        id: id.to_string(),
        kind: None,
        target: None,
        configured: false,
        paused: None,
        breaker_open_ms: None,
        running: 0,
        concurrency: 0,
    }
}
