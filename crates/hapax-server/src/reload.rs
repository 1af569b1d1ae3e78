//! Applies a new configuration to a running service.

use std::sync::Arc;
use std::time::Duration;

use hapax_config::Config;
use hapax_delivery::destination::{routing, targets};
use hapax_ingest::Sources;
use hapax_ingest::earlier_ids::EarlierIds;

use super::{Server, know, places, shown};

/// How long a reload waits for the store: a stop signal waits behind it.
const STORE_ANSWERS_WITHIN: Duration = Duration::from_secs(2);

impl Server {
    /// Applies another configuration. Running requests and attempts finish with the old one; settings that need a
    /// restart stay as they are, with a warning in the log.
    pub async fn reload(&self, config: Config) {
        let propagation = self.tracer.propagation();
        let targets = targets(&config, &self.client, &self.clock, propagation);
        let targets = match targets.and_then(|targets| self.alerts.reconfigure(&config).map(|()| targets)) {
            Ok(targets) => targets,
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the configuration was not reloaded; the previous one stays in use"
                );
                return;
            }
        };
        for warning in config.warning_lines() {
            tracing::warn!("{warning}");
        }
        let earlier_ids = self.earlier_ids(&config).await;
        self.fronts.reconfigure(&config.server).await;
        let mut current = self.config.lock();
        for key in needs_restart(&current, &config) {
            tracing::warn!(
                key,
                "this change needs a restart; the old value stays in use until then"
            );
        }
        know(&self.metrics, &config);
        self.tracer.know(places(&config));
        self.store.reconfigure(&config);
        // Destinations come before sources: an event must never find a source without its destinations.
        self.destinations.reconfigure(targets);
        self.engine.reconfigure(routing(&config));
        self.ingest
            .reconfigure(Sources::of(&config, &earlier_ids, &self.metrics));
        self.outboxes.reconfigure(&config);
        let mut settings = shown(&config, self.ingest_address());
        settings.access.listen = self.admin_address();
        self.settings.store(Arc::new(settings));
        *current = Config {
            server: hapax_config::Server {
                listen: current.server.listen,
                admin_listen: current.server.admin_listen,
                keep_alive: current.server.keep_alive,
                tls: current.server.tls.clone(),
                admin_tls: current.server.admin_tls.clone(),
                ..config.server
            },
            store: current.store.clone(),
            traces: current.traces.clone(),
            ..config
        };
        tracing::info!(
            sources = current.sources.len(),
            destinations = current.destinations.len(),
            "configuration reloaded"
        );
    }

    /// A reload neither fails nor blocks because the store does: in that case ids under the previous rules are looked
    /// up, which is always correct.
    async fn earlier_ids(&self, config: &Config) -> EarlierIds {
        let (now, store) = (self.clock.now(), self.store.backend());
        let read = tokio::time::timeout(STORE_ANSWERS_WITHIN, EarlierIds::read(&*store, config, now));
        if let Ok(Ok(earlier_ids)) = read.await {
            return earlier_ids;
        }
        tracing::warn!("the store has no record of when the current id rules took effect");
        EarlierIds::assumed(config, now)
    }
}

/// The keys that differ but are read only at startup.
fn needs_restart(old: &Config, new: &Config) -> Vec<&'static str> {
    let compared = [
        ("server.listen", old.server.listen != new.server.listen),
        (
            "server.admin_listen",
            old.server.admin_listen != new.server.admin_listen,
        ),
        (
            "server.keep_alive",
            old.server.keep_alive != new.server.keep_alive,
        ),
        ("server.limits", old.server.limits != new.server.limits),
        ("server.tls", old.server.tls != new.server.tls),
        ("server.admin_tls", old.server.admin_tls != new.server.admin_tls),
        ("store.url", old.store.url != new.store.url),
        (
            "store.encryption_keys",
            old.store.encryption != new.store.encryption,
        ),
        ("traces", old.traces != new.traces),
    ];
    compared
        .into_iter()
        .filter_map(|(key, differs)| differs.then_some(key))
        .collect()
}
