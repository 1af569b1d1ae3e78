//! `/healthz` and `/readyz`: whether the process is alive, and whether it is ready to receive webhooks.
//!
//! Health depends on nothing: a store that is down is no reason to restart the process. Readiness makes the store
//! prove that it can write. The result is cached briefly, so that many clients cost one probe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use hapax_core::Backend;
use http::StatusCode;
use tokio::sync::{Mutex, watch};

use super::state::AdminState;
use hapax_api::views::{CheckView, ChecksView, Phase, ReadyView};

/// How long the result of a probe is cached.
const PROBE_KEPT: Duration = Duration::from_secs(1);
/// Timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The process's phase and the last probe of its store. Clones share both.
#[derive(Clone, Debug)]
pub struct Readiness {
    phase: watch::Sender<Phase>,
    last_probe: Arc<Mutex<Option<(Instant, CheckView)>>>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self {
            phase: watch::Sender::new(Phase::Starting),
            last_probe: Arc::default(),
        }
    }
}

impl Readiness {
    pub fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Completes when the process begins to stop.
    pub async fn stopping(&self) {
        let mut phases = self.phase.subscribe();
        // `self` owns the sender, so the wait cannot fail during the call.
        let _ = phases.wait_for(|phase| *phase == Phase::Stopping).await;
    }

    /// The result of a store probe, fresh or cached. Concurrent calls wait for the same probe.
    async fn check_store(&self, store: &dyn Backend) -> CheckView {
        let mut last = self.last_probe.lock().await;
        if let Some((at, check)) = last.as_ref()
            && at.elapsed() < PROBE_KEPT
        {
            return check.clone();
        }
        let begun = Instant::now();
        let message = match tokio::time::timeout(PROBE_TIMEOUT, store.probe()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {} s", PROBE_TIMEOUT.as_secs())),
        };
        let check = CheckView {
            ok: message.is_none(),
            message,
            took_ms: begun.elapsed().as_millis() as u64,
        };
        *last = Some((Instant::now(), check.clone()));
        check
    }
}

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
