//! The admin port: health, readiness, metrics, and the API that the command line and the dashboard use.
//!
//! `/healthz`, `/readyz` and `/metrics` need no token, as probes and Prometheus expect: they show names
//! of sources and destinations and numbers, never what is inside an event. Everything under `/api/v1`
//! is behind `access`. Every answer has a limit in time and every body one in size; the live tail is
//! the one answer without an end, and has a limit in number.

pub(in crate::http) mod access;
pub(in crate::http) mod audit;
pub(in crate::http) mod complete;
pub(in crate::http) mod conflicts;
pub(in crate::http) mod deliveries;
pub(in crate::http) mod destinations;
pub(in crate::http) mod events;
pub(in crate::http) mod extract;
pub(in crate::http) mod fault;
pub(in crate::http) mod filter;
pub(in crate::http) mod ledger;
mod meter;
pub(in crate::http) mod outbox;
pub(in crate::http) mod readiness;
pub(in crate::http) mod registrations;
pub(in crate::http) mod replays;
pub(in crate::http) mod saved;
mod settings;
pub(in crate::http) mod show;
pub(in crate::http) mod sources;
pub(in crate::http) mod state;
pub(in crate::http) mod stats;
pub(in crate::http) mod stream;
mod strict;
pub(in crate::http) mod traffic;
pub mod views;

use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use hapax_core::{Clock as _, SystemClock};
use http::header::CONTENT_TYPE;

pub use access::{ACTOR_HEADER, Access};
pub use meter::{Arrivals, Meter};
pub use readiness::{CheckView, ChecksView, Phase, Readiness, ReadyView};
pub use state::{AdminState, DestinationSettings, Settings};

use super::dashboard;
use extract::BODY_BYTES_MAX;
use fault::{Fault, Missing};
use strict::strict;

/// Longest that an answer takes. `forget` alone waits for the life of the seen-cache, ten seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Everything that the admin port answers.
pub fn router(state: AdminState) -> Router {
    let timed = api().layer(from_fn(in_time));
    let api = timed
        .route("/events/stream", get(stream::tail))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(state.clone(), access::guard));
    let probes = Router::new()
        .route("/healthz", get(readiness::healthz))
        .route("/readyz", get(readiness::readyz))
        .route("/metrics", get(metrics))
        .layer(from_fn(in_time));
    Router::new()
        .merge(probes)
        .merge(dashboard::router(&state).layer(from_fn(in_time)))
        .nest("/api/v1", api)
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(map_response(strict))
        .with_state(state)
}

fn api() -> Router<AdminState> {
    Router::new()
        .route("/events", get(events::list))
        .route("/events/{id}", get(events::show))
        .route("/events/{id}/payload", get(events::payload))
        .route("/events/{id}/replay", post(replays::replay_one))
        .route("/events/{id}/conflicts/{hash}/payload", get(conflicts::payload))
        .route("/events/{id}/conflicts/{hash}/release", post(conflicts::release))
        .route("/replays", get(replays::list).post(replays::start))
        .route("/replays/{id}", get(replays::show).delete(replays::cancel))
        .route("/deliveries", get(deliveries::list))
        .route("/deliveries/groups", get(deliveries::groups))
        .route("/deliveries/discard", post(deliveries::discard))
        .route("/deliveries/restore", post(deliveries::restore))
        .route("/stats", get(stats::show))
        .route("/audit", get(audit::list))
        // A sender's id may hold anything, slashes too: it is the whole rest of the path.
        .route(
            "/ledger/{source}/{*event_id}",
            get(ledger::show).merge(delete(ledger::forget)),
        )
        .route("/query/complete", get(complete::complete))
        .route("/views", get(saved::list))
        .route("/views/{name}", put(saved::put).delete(saved::delete))
        .route("/outbox", get(outbox::list))
        .route("/outbox/{name}/{id}/retry", post(outbox::retry))
        .route("/sources", get(sources::list))
        .route("/sources/{name}/registration", post(registrations::open))
        .route("/destinations", get(destinations::list))
        .route("/destinations/{name}/pause", post(destinations::pause))
        .route("/destinations/{name}/resume", post(destinations::resume))
}

async fn metrics(State(state): State<AdminState>) -> Response {
    let counts = state.counts.read(state.engine.store().as_ref()).await;
    let text = state.meter.render(&counts, SystemClock::default().now());
    ([(CONTENT_TYPE, crate::telemetry::metrics::MEDIA_TYPE)], text).into_response()
}

async fn unknown_path(request: Request) -> Fault {
    let path = request.uri().path();
    Fault::not_found(
        Missing::Path,
        format!("there is nothing at `{path}`; docs/reference/api.md lists every path"),
    )
}

async fn wrong_method() -> Fault {
    Fault::method_not_allowed()
}

async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(ANSWER_TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Fault::timeout(ANSWER_TIMEOUT).into_response(),
    }
}
