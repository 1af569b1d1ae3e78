//! Certificates that change while the service runs: checked every few seconds, and on SIGHUP.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use hapax_config as config;
use hapax_listen::{Front, Refreshed, Tls, TrustedProxies};
use hapax_telemetry::Metrics;

use super::StartError;

/// How often the files are read. Certificates are renewed days before the old one expires.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// TLS of both ports.
pub(super) struct Fronts {
    pub(super) ingest: Front,
    pub(super) admin: Front,
}

impl Fronts {
    pub(super) fn new(server: &config::Server, metrics: &Metrics) -> Result<Self, StartError> {
        let proxies = TrustedProxies::new(server.trusted_proxies.clone());
        let front = |tls: &Option<config::Tls>, meter| {
            let tls = tls.clone().map(|files| Tls::load(files, meter)).transpose()?;
            let proxies = proxies.clone();
            Ok::<_, StartError>(Front { tls, proxies })
        };
        Ok(Self {
            ingest: front(&server.tls, metrics.tls().ingest.clone())?,
            admin: front(&server.admin_tls, metrics.tls().admin.clone())?,
        })
    }

    /// Checks the files periodically until the result is dropped.
    pub(super) fn watch(&self) -> Watching {
        let both = self.tls();
        Watching(tokio::spawn(async move {
            if both.is_empty() {
                return;
            }
            let mut ticks = interval(LOOK_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                refresh(both.clone()).await;
            }
        }))
    }

    /// Applies another configuration, and the current content of the files.
    pub(super) async fn reconfigure(&self, server: &config::Server) {
        self.ingest.proxies.replace(server.trusted_proxies.clone());
        refresh(self.tls()).await;
    }

    fn tls(&self) -> Vec<(&'static str, Tls)> {
        let both = [
            ("server.tls", &self.ingest.tls),
            ("server.admin_tls", &self.admin.tls),
        ];
        both.into_iter()
            .filter_map(|(key, tls)| Some((key, tls.clone()?)))
            .collect()
    }
}

/// Reading may take as long as a mount takes to respond, so no worker of the runtime waits for it.
async fn refresh(both: Vec<(&'static str, Tls)>) {
    let looked = tokio::task::spawn_blocking(move || {
        for (key, tls) in both {
            match tls.refresh() {
                Ok(Refreshed::Unchanged) => {}
                Ok(Refreshed::Renewed) => tracing::info!(key, "a new certificate is in use"),
                Err(error) => tracing::warn!(
                    key,
                    error = &error as &dyn std::error::Error,
                    "the certificate was not reloaded; the previous one stays in use"
                ),
            }
        }
    });
    // This fails only if the task panicked, which is logged.
    let _ = looked.await;
}

/// The task that checks the files.
pub(super) struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}
