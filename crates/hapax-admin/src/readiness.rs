//! The phase of the process, and the last proof that its store can write. The proof is cached briefly, so that many
//! clients cost one probe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hapax_core::Backend;
use tokio::sync::{Mutex, watch};

use hapax_api::views::{CheckView, Phase};

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
    pub(super) async fn check_store(&self, store: &dyn Backend) -> CheckView {
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
