//! `hapax serve` from its start to its end: signals reload and stop it, and systemd is told of both.

use crate::config::{Config, ConfigError};

use super::{STOP_LIMIT, Server, StartError, Tuning, signals, supervisor};

/// Serves `config` until a signal ends it; `reload` reads the configuration again.
pub async fn run(config: Config, reload: impl Fn() -> Result<Config, ConfigError>) -> Result<(), StartError> {
    let started = std::time::Instant::now();
    let mut signals = signals::Signals::new().map_err(StartError::Signals)?;
    for warning in config.warning_lines() {
        tracing::warn!("{warning}");
    }
    let server = Server::start(config, Tuning::default()).await?;
    tracing::info!(
        listen = %server.ingest_address(),
        admin = %server.admin_address(),
        version = env!("CARGO_PKG_VERSION"),
        ready_after_ms = started.elapsed().as_millis() as u64,
        "ready: webhooks at http://{}/in/<source>, admin at http://{}",
        server.ingest_address(),
        server.admin_address(),
    );
    supervisor::ready();
    let signs_of_life = supervisor::watch(server.metrics.clone());
    loop {
        match signals.next().await {
            signals::Signal::Reload => {
                supervisor::reloading();
                match reload() {
                    Ok(config) => server.reload(config).await,
                    Err(error) => tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "the configuration was not reloaded; the old one stays in use"
                    ),
                }
                supervisor::ready();
            }
            signals::Signal::Stop(name) => {
                tracing::info!(signal = name, "stopping");
                supervisor::stopping();
                break;
            }
        }
    }
    tokio::select! {
        () = server.stop() => tracing::info!("stopped"),
        () = signals.second_stop() => tracing::warn!("stopped at once, by a second signal"),
        () = tokio::time::sleep(STOP_LIMIT) => tracing::warn!("stopped at once: the limit for stopping is over"),
    }
    signs_of_life.abort();
    Ok(())
}
