//! Ctrl-C and SIGTERM while child processes run: the work is dropped, and its drops stop the processes it started.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};

/// Runs `work` until it ends or the process is asked to stop.
pub async fn guard<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = work => result,
        _ = interrupt.recv() => Err(stopped()),
        _ = terminate.recv() => Err(stopped()),
    }
}

fn stopped() -> anyhow::Error {
    anyhow::anyhow!("interrupted: everything that was started has been stopped")
}
