//! `/healthz` and `/readyz`: whether the process is alive, and whether it is ready to receive webhooks.
//!
//! Health depends on nothing: a store that is down is no reason to restart the process. Readiness makes the store
//! prove that it can write.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::state::AdminState;
use hapax_api::views::{ChecksView, Phase, ReadyView};

/// Reports that the process is running.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "probes",
    responses((status = 200, description = "The process is running.", content_type = "text/plain", body = String)))]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Reports whether the process is ready to receive webhooks, and why not.
#[utoipa::path(get, path = "/readyz", operation_id = "readiness", tag = "probes",
    responses((status = 200, description = "The process is ready to receive webhooks.", body = ReadyView), (status = 503, description = "The process is not ready; `checks` and `phase` say why.", body = ReadyView)))]
pub(super) async fn readyz(State(state): State<AdminState>) -> Response {
    let store = state.readiness.check_store(state.engine.store().as_ref()).await;
    let phase = state.readiness.phase();
    let ready = store.ok && phase == Phase::Serving;
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (
        status,
        Json(ReadyView {
            ready,
            phase,
            checks: ChecksView { store },
        }),
    )
        .into_response()
}
