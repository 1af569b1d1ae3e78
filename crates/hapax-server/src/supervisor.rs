//! Notifies systemd: ready, reloading, stopping, a status line, and the watchdog.
//!
//! The watchdog is fed by a task of the runtime that serves requests, after it has seen another task run: when the
//! runtime is stuck, the task is, too, and systemd restarts the process. It does not depend on the store. A store that
//! is down is not a fault of this process, and a restart would not fix it; `/readyz` reports it.
//!
//! Without systemd (no `NOTIFY_SOCKET`), nothing is sent.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::task::JoinHandle;

use hapax_telemetry::Meter;

/// Watchdog messages per watchdog timeout.
const SIGNS_IN_TIME: u32 = 3;
/// How often the status line is updated if no watchdog is configured.
const STATUS_EVERY: Duration = Duration::from_secs(10);

/// Both ports accept requests.
pub(super) fn ready() {
    tell(&[NotifyState::Ready, NotifyState::Status("serving")]);
}

/// The configuration is being read again; [`ready`] follows.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// Nothing new is accepted from here on.
pub(super) fn stopping() {
    tell(&[
        NotifyState::Stopping,
        NotifyState::Status("stopping: running attempts finish or are released"),
    ]);
}

/// Feeds the watchdog and updates the status line for as long as the process lives.
pub(super) fn watch(meter: Arc<dyn Meter>) -> JoinHandle<()> {
    let watchdog = sd_notify::watchdog_enabled();
    let every = watchdog.map_or(STATUS_EVERY, |limit| limit / SIGNS_IN_TIME);
    give_signs(every, move || {
        let status = status(meter.as_ref());
        let signs = [NotifyState::Status(&status), NotifyState::Watchdog];
        tell(if watchdog.is_some() { &signs } else { &signs[..1] });
    })
}

/// Calls `sign` periodically, each time after another task of the runtime has run.
fn give_signs(every: Duration, sign: impl Fn() + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            if tokio::spawn(tokio::task::yield_now()).await.is_ok() {
                sign();
            }
        }
    })
}

fn status(meter: &dyn Meter) -> String {
    let (mut accepted, mut duplicates, mut rejected) = (0, 0, 0);
    for source in meter.arrivals() {
        accepted += source.accepted;
        duplicates += source.duplicates;
        rejected += source.rejected;
    }
    format!("serving: {accepted} accepted, {duplicates} duplicates, {rejected} rejected since the start")
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd could not be notified");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Instant;

    use super::*;

    const EVERY: Duration = Duration::from_millis(20);
    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_runtime_that_is_stuck_gives_no_sign_and_gives_them_again_once_it_is_free() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (sign, signs) = channel();
        let _entered = runtime.enter();
        give_signs(EVERY, move || sign.send(Instant::now()).unwrap());
        signs
            .recv_timeout(PATIENCE)
            .expect("a runtime that runs gives signs");

        let (stuck, is_stuck) = channel();
        let doors: Vec<_> = (0..2).map(|_| block_a_worker(stuck.clone())).collect();
        for _ in &doors {
            is_stuck.recv_timeout(PATIENCE).expect("both workers are blocked");
        }
        while signs.try_recv().is_ok() {}
        let silence = signs.recv_timeout(EVERY * 20);
        assert_eq!(
            silence,
            Err(RecvTimeoutError::Timeout),
            "no worker is free to give one"
        );

        drop(doors);
        signs.recv_timeout(PATIENCE).expect("it gives signs again");
    }

    /// Blocks a worker as a deadlock does, until the returned sender is dropped.
    fn block_a_worker(stuck: std::sync::mpsc::Sender<()>) -> std::sync::mpsc::Sender<()> {
        let (door, closed) = channel::<()>();
        tokio::spawn(async move {
            stuck.send(()).unwrap();
            let _ = closed.recv();
        });
        door
    }
}
