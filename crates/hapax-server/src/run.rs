//! `hapax serve` from start to end: signals and new secrets reload it, a signal stops it, and systemd is notified.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use hapax_config::{Config, ConfigError, Loader};

use super::secrets::SecretWatch;
use super::{STOP_LIMIT, Server, StartError, Tuning, signals, supervisor};

/// Serves `config` until a signal stops it; `loader` reads it again.
pub async fn run(config: Config, loader: Loader) -> Result<(), StartError> {
    let started = std::time::Instant::now();
    let loader = Arc::new(loader);
    let mut signals = signals::Signals::new().map_err(StartError::Signals)?;
    for warning in config.warning_lines() {
        tracing::warn!("{warning}");
    }
    if let Some(path) = loader.dotenv() {
        tracing::info!(
            path = %path.display(),
            "environment variables are also read from .env, which is meant for development"
        );
    }
    let tuning = Tuning::of(&config);
    let server = Server::start(config, tuning).await?;
    tracing::info!(
        listen = %server.ingest_address(),
        admin = %server.admin_address(),
        version = env!("CARGO_PKG_VERSION"),
        ready_after_ms = started.elapsed().as_millis() as u64,
        "ready: webhooks at {}://{}/in/<source>, admin at {}://{}",
        scheme(server.fronts.ingest.tls.is_some()),
        server.ingest_address(),
        scheme(server.fronts.admin.tls.is_some()),
        server.admin_address(),
    );
    supervisor::ready();
    server.metrics().watch_secrets(loader.kept());
    let mut secrets = SecretWatch::start(Arc::clone(&loader));
    let signs_of_life = supervisor::watch(server.metrics.clone());
    loop {
        tokio::select! {
            signal = signals.next() => match signal {
                signals::Signal::Reload => reload(&server, &loader, Loader::load).await,
                signals::Signal::Stop(name) => {
                    tracing::info!(signal = name, "stopping");
                    supervisor::stopping();
                    break;
                }
            },
            changed = secrets.changed() => {
                let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
                tracing::info!(changed = changed.join(", "), "secrets have changed");
                reload(&server, &loader, Loader::load_secrets).await;
            }
        }
    }
    drop(secrets);
    tokio::select! {
        () = server.stop() => tracing::info!("stopped"),
        () = signals.second_stop() => tracing::warn!("stopped immediately by a second signal"),
        () = tokio::time::sleep(STOP_LIMIT) => tracing::warn!("stopped immediately: the shutdown timed out"),
    }
    signs_of_life.abort();
    Ok(())
}

/// The only way in which another configuration takes effect.
async fn reload(server: &Server, loader: &Arc<Loader>, read: fn(&Loader) -> Result<Config, ConfigError>) {
    supervisor::reloading();
    let loader = Arc::clone(loader);
    // Commands that print secrets may take seconds.
    match spawn_blocking(move || read(&loader)).await {
        Ok(Ok(config)) => server.reload(config).await,
        Ok(Err(error)) => tracing::error!(
            error = &error as &dyn std::error::Error,
            "the configuration was not reloaded; the previous one stays in use"
        ),
        Err(error) => {
            tracing::error!(%error, "the configuration was not reloaded; the previous one stays in use");
        }
    }
    supervisor::ready();
}

/// The URL scheme of a port.
const fn scheme(is_encrypted: bool) -> &'static str {
    if is_encrypted { "https" } else { "http" }
}
