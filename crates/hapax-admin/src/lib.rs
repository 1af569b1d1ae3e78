//! The admin port: health, readiness, metrics, and the API for the command line and the dashboard.
//!
//! `/healthz`, `/readyz` and `/metrics` require no token, as probes and Prometheus expect: they show numbers and the
//! names of sources and destinations, never the contents of an event. Everything under `/api/v1` is protected by
//! `access`. Every response is limited in time and every body in size. The live tail is the only open-ended response,
//! and the number of open ones is limited.

pub mod access;
pub mod admission;
pub(crate) mod alerts;
pub mod api_error;
pub mod audit;
pub(crate) mod complete;
pub mod conflicts;
pub mod deliveries;
pub mod destinations;
pub mod diff;
pub mod duplicates;
mod erasures;
pub mod events;
pub mod export;
mod exports;
pub mod extract;
pub mod facts;
pub mod filter;
pub mod ledger;
pub mod openapi;
pub mod outbox;
pub mod overview;
pub mod pretty;
mod probes;
pub mod readiness;
pub mod registrations;
pub mod replays;
pub mod searches;
mod settings;
pub(crate) mod show;
pub mod sight;
pub mod sources;
pub(crate) mod state;
pub mod stats;
mod store_counts;
pub mod stream;
mod strict;
pub mod ten_minutes;
pub mod traffic;

use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use access::{Access, IdentityProvider};
pub use readiness::Readiness;
pub use state::{AdminState, DestinationSettings, Settings};

use api_error::ApiError;
use extract::BODY_BYTES_MAX;
use hapax_api::problem::Code;
use hapax_api::renamed::{Kind, hint};
use hapax_telemetry::Format;
use strict::strict;

/// Timeout of a response. Only `forget` takes long by design: it waits ten seconds, the lifetime of the seen-cache.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The router of the admin port, with these pages.
pub fn router(state: AdminState, pages: Router<AdminState>) -> Router {
    let Routes {
        probes,
        timed,
        streams,
    } = routes();
    let api = Router::from(timed)
        .layer(from_fn(in_time))
        .merge(Router::from(streams))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(state.clone(), admission::guard));
    Router::new()
        .merge(Router::from(probes).layer(from_fn(in_time)))
        .merge(pages.layer(from_fn(in_time)))
        .nest("/api/v1", api)
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(map_response(strict))
        .with_state(state)
}

/// The routes in the OpenAPI document: only handlers with a description can be added here.
struct Routes {
    /// Outside of the API.
    probes: OpenApiRouter<AdminState>,
    /// Responses with an end.
    timed: OpenApiRouter<AdminState>,
    /// Open-ended responses.
    streams: OpenApiRouter<AdminState>,
}

fn routes() -> Routes {
    let probes = OpenApiRouter::new()
        .routes(routes!(probes::healthz))
        .routes(routes!(probes::readyz))
        .routes(routes!(metrics));
    let timed = OpenApiRouter::new()
        .routes(routes!(events::list))
        .routes(routes!(events::show))
        .routes(routes!(events::payload))
        .routes(routes!(replays::replay_one))
        .routes(routes!(exports::export))
        .routes(routes!(conflicts::payload))
        .routes(routes!(conflicts::compare))
        .routes(routes!(conflicts::release))
        .routes(routes!(replays::list, replays::start))
        .routes(routes!(replays::show, replays::cancel))
        .routes(routes!(erasures::erase))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::groups))
        .routes(routes!(deliveries::discard))
        .routes(routes!(deliveries::restore))
        .routes(routes!(stats::show))
        .routes(routes!(duplicates::show))
        .routes(routes!(overview::show))
        .routes(routes!(alerts::list))
        .routes(routes!(alerts::test))
        .routes(routes!(audit::list))
        .routes(routes!(audit::verify))
        // A provider's id can contain anything, including slashes: it is the rest of the path.
        .routes(routes!(ledger::show, ledger::forget))
        .routes(routes!(complete::complete))
        .routes(routes!(searches::list))
        .routes(routes!(searches::put, searches::delete))
        .routes(routes!(outbox::list))
        .routes(routes!(outbox::retry))
        .routes(routes!(sources::list))
        .routes(routes!(registrations::open))
        .routes(routes!(destinations::list))
        .routes(routes!(destinations::pause))
        .routes(routes!(destinations::resume))
        .routes(routes!(openapi::serve));
    let streams = OpenApiRouter::new().routes(routes!(stream::tail));
    Routes {
        probes,
        timed,
        streams,
    }
}

/// Exports metrics for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "probes",
    responses((status = 200, description = "The metrics: in OpenMetrics with exemplars if `Accept` requests it, otherwise \
        in the Prometheus text format.", content((String = "text/plain"), (String = "application/openmetrics-text")))))]
async fn metrics(State(state): State<AdminState>, headers: HeaderMap) -> Response {
    let format = Format::asked_by(&headers);
    let counts = state.counts.scrape(state.engine.store()).await;
    if let Some(outboxes) = &state.outboxes {
        outboxes.show();
    }
    let text = state.meter.render(&counts, state.now(), format);
    ([(CONTENT_TYPE, format.media_type())], text).into_response()
}

async fn unknown_path(request: Request) -> ApiError {
    let path = request.uri().path();
    let renamed: String = path.split('/').map(|part| hint(Kind::Path, part)).collect();
    ApiError::new(
        Code::UnknownPath,
        format!("there is nothing at `{path}`{renamed}; docs/reference/api.md lists every path"),
    )
}

async fn wrong_method() -> ApiError {
    ApiError::method_not_allowed()
}

async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(ANSWER_TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::timeout(ANSWER_TIMEOUT).into_response(),
    }
}
